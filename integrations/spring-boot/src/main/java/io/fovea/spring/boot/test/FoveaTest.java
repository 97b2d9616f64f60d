package io.fovea.spring.boot.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.test.autoconfigure.OverrideAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTestContextBootstrapper;
import org.springframework.test.context.BootstrapWith;
import org.springframework.test.context.junit.jupiter.SpringExtension;

/**
 * A test of code that uses a database, without the rest of the application: the context contains
 * the database, in memory, and nothing that component scanning would find. Import the beans under
 * test:
 *
 * <pre>{@code
 * @FoveaTest
 * @Import(Accounts.class)
 * class AccountsTest {
 *   @Autowired Accounts accounts;
 * }
 * }</pre>
 *
 * <p>Spring caches contexts, so the tests of a class, and of other classes with the same
 * configuration, share a database. {@link org.springframework.test.annotation.DirtiesContext} gives
 * a test an empty one.
 *
 * @since 0.2.0
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@BootstrapWith(SpringBootTestContextBootstrapper.class)
@ExtendWith(SpringExtension.class)
@OverrideAutoConfiguration(enabled = false)
@ImportAutoConfiguration
@AutoConfigureTestFovea
public @interface FoveaTest {}
