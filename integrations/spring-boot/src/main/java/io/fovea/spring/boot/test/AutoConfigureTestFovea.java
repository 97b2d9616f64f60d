package io.fovea.spring.boot.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.test.context.TestPropertySource;

/**
 * Keeps the auto-configured database in memory while a test runs, whatever {@code fovea.path} says.
 * For tests of the whole application:
 *
 * <pre>{@code
 * @SpringBootTest
 * @AutoConfigureTestFovea
 * class ShopTest {}
 * }</pre>
 *
 * <p>A {@link io.fovea.Database} bean that the application defines is not replaced.
 *
 * @since 0.2.0
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@TestPropertySource(properties = "fovea.in-memory=true")
public @interface AutoConfigureTestFovea {}
