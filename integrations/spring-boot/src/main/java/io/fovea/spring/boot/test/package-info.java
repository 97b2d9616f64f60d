/**
 * Tests of Spring Boot applications with a database in memory.
 *
 * <p>Purpose: {@link io.fovea.spring.boot.test.FoveaTest} tests the code that uses a database
 * without the rest of the application. {@link io.fovea.spring.boot.test.AutoConfigureTestFovea}
 * gives any other Spring test a database in memory.
 *
 * <p>May import: Spring Boot's test support and JUnit, of which only the types that Spring Boot 3.5
 * and 4.1 have in common. Threading: used by the thread that runs a test.
 */
@NullMarked
package io.fovea.spring.boot.test;

import org.jspecify.annotations.NullMarked;
