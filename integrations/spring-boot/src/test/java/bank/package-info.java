/** A service with its data in a Fovea database: the sample of docs/guide/spring-boot.md. */
@NullMarked
package bank;

import org.jspecify.annotations.NullMarked;
