package io.fovea.junit;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.VerifyReport;
import io.fovea.config.LeakDetection;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Opens a {@link Database} for a test or a test class, and verifies and closes it afterward.
 *
 * <pre>{@code
 * @FoveaDatabase
 * class ShopTest {
 *   @BeforeEach
 *   void fill(Database db) { ... }
 *
 *   @Test
 *   void sells(Database db) { ... }
 * }
 * }</pre>
 *
 * <p>The position of the annotation determines how long the database stays open:
 *
 * <table>
 * <caption>Lifetimes</caption>
 * <tr><th>annotated</th><th>open for</th></tr>
 * <tr><td>static field; parameter of a {@code @BeforeAll} or {@code @AfterAll} method</td>
 *   <td>the test class, with its nested classes</td></tr>
 * <tr><td>instance field; test class, for parameters of type {@code Database} in it and in its
 *   nested classes; parameter of a constructor</td>
 *   <td>the test, or the test class if it is annotated with {@code @TestInstance(PER_CLASS)}</td>
 *   </tr>
 * <tr><td>any other parameter</td><td>the test</td></tr>
 * </table>
 *
 * <p>Each invocation of a parameterized or repeated test is a test. Annotations with the same
 * {@link #name} mean the same database where their lifetimes overlap, so a field and a parameter of
 * a test can share one. To use several databases in a test, give them names. Tests that run in
 * parallel have separate databases, unless the database is open for their class.
 *
 * <p>The end of the test or class fails if
 *
 * <ul>
 *   <li>a transaction or a snapshot is still open. The extension first waits for transactions of
 *       other threads, up to the option {@code transactions.closeTimeout}. A database that is open
 *       for a class is also checked after each test, so that the failure names the test. It is not
 *       if the tests of the class run in parallel.
 *   <li>{@link Database#verify} finds a problem. The failure contains the problems. For a database
 *       in a temporary folder it also contains the path of the folder, which is then not deleted.
 *   <li>{@link Database#close} fails.
 * </ul>
 *
 * <p>A test may close its database. One in a temporary folder is verified all the same.
 *
 * <p>This annotation can be a meta-annotation. It needs JUnit 5.12 or later.
 *
 * @since 0.2.0
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.FIELD, ElementType.PARAMETER, ElementType.ANNOTATION_TYPE})
@ExtendWith(FoveaExtension.class)
public @interface FoveaDatabase {
  /** Where the database is stored. */
  enum Location {
    /** In memory, without a log. */
    MEMORY,
    /** In a file in a new temporary folder, which is deleted when the database is closed. */
    TEMPORARY_FOLDER
  }

  /**
   * {@return the name that distinguishes several databases of a test} Log messages contain it after
   * the name of the test.
   */
  String name() default "";

  /** {@return where the database is stored} */
  Location location() default Location.MEMORY;

  /**
   * {@return a class that changes the options; by default there is none}
   *
   * <p>The defaults for tests are {@link Options#defaults()} with a buffer of 16 MiB, log segments
   * of 2 MiB, {@link LeakDetection#ALL}, a close timeout of one second, and the name of the test.
   */
  Class<? extends OptionsCustomizer> options() default OptionsCustomizer.class;

  /**
   * {@return the name of a static method that returns the options; by default there is none}
   *
   * <p>It is a method of the annotated test class, of one that it extends, or of one that it is
   * nested in. A method of any other class is written {@code com.acme.OtherClass#method}. It may be
   * private. It has one parameter, the defaults for tests as changed by {@link #options}, or none,
   * and returns {@link Options}.
   */
  String optionsMethod() default "";

  /**
   * {@return whether the database is verified before it is closed} Turn this off for tests that
   * damage the database.
   *
   * @see VerifyReport
   */
  boolean verify() default true;
}
