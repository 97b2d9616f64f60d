package io.fovea;

import static com.tngtech.archunit.core.domain.JavaAccess.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.type;
import static com.tngtech.archunit.core.domain.JavaModifier.PROTECTED;
import static com.tngtech.archunit.core.domain.JavaModifier.PUBLIC;
import static com.tngtech.archunit.core.domain.properties.HasModifiers.Predicates.modifier;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.core.domain.properties.HasOwner.Predicates.With.owner;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.members;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static java.util.stream.Collectors.toList;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaMember;
import com.tngtech.archunit.core.domain.properties.HasName;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import io.fovea.faults.Failpoint;
import io.fovea.faults.SelfAttach;
import io.fovea.txn.FaultInjection;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Packages depend in one direction only, from the API down to the errors. */
class ArchitectureTest {
  /** Packages from bottom to top; each may use those before it. */
  private static final List<String> PACKAGES =
      List.of(
          "io.fovea.config",
          "io.fovea.error",
          "io.fovea.schema",
          "io.fovea.object",
          "io.fovea.view",
          "io.fovea.memory",
          "io.fovea.io",
          "io.fovea.wal",
          "io.fovea.copies",
          "io.fovea.buffer",
          "io.fovea.btree",
          "io.fovea.encoding",
          "io.fovea.txn",
          "io.fovea.index",
          "io.fovea.recovery",
          "io.fovea.changes",
          "io.fovea.store",
          "io.fovea.catalog",
          "io.fovea.inspection",
          "io.fovea");

  /** The maximum number of classes in a dependency cycle of a package, without nested ones. */
  private static final int CYCLE_MAX = 10;

  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .importPackages("io.fovea");

  @Test
  void dependenciesRunOneWay() {
    for (int i = 0; i < PACKAGES.size(); i++) {
      String[] above = PACKAGES.subList(i + 1, PACKAGES.size()).toArray(String[]::new);
      if (above.length > 0) {
        noClasses()
            .that()
            .resideInAPackage(PACKAGES.get(i))
            .should()
            .dependOnClassesThat(resideInAnyPackage(above))
            .allowEmptyShould(true)
            .because("a package uses only those below it")
            .check(CLASSES);
      }
    }
  }

  @Test
  void everyClassIsInAListedPackage() {
    String[] rooms = PACKAGES.toArray(String[]::new);
    classes()
        .that(resideInAPackage("io.fovea.."))
        .should()
        .resideInAnyPackage(
            java.util.stream.Stream.concat(
                    java.util.Arrays.stream(rooms),
                    java.util.stream.Stream.of("io.fovea.bindings.."))
                .toArray(String[]::new))
        .check(CLASSES);
  }

  @Test
  void thereAreNoCycles() {
    slices().matching("io.fovea.(**)").should().beFreeOfCycles().check(CLASSES);
  }

  /**
   * Within a package, few classes depend on each other in a cycle: a strategy and its
   * implementations, or the parts of one mechanism. The handles of the API refer to each other by
   * design, and the errors are sealed.
   */
  @Test
  void cyclesWithinAPackageAreSmall() {
    Map<String, List<JavaClass>> rooms =
        CLASSES.stream()
            .filter(c -> !c.getPackageName().equals("io.fovea"))
            .filter(c -> !c.getPackageName().equals("io.fovea.error"))
            .collect(Collectors.groupingBy(JavaClass::getPackageName, TreeMap::new, toList()));
    List<String> large = new ArrayList<>();
    for (List<JavaClass> room : rooms.values()) {
      for (Set<String> circle : DependencyCycles.of(room)) {
        if (circle.size() > CYCLE_MAX) {
          large.add(circle.size() + " classes: " + circle);
        }
      }
    }
    assertEquals(List.of(), large);
  }

  /**
   * The source folder of an exported package contains only the API. That of {@code io.fovea} also
   * has package-private classes, since a sealed class and its subclasses share a package.
   */
  @Test
  void exportedPackagesContainTheApi() {
    classes()
        .that()
        .resideInAnyPackage("io.fovea.config", "io.fovea.error", "io.fovea.schema")
        .and()
        .areTopLevelClasses()
        .and()
        .doNotHaveSimpleName("package-info")
        .should()
        .bePublic()
        .check(CLASSES);
  }

  /** Packages below the API depend only on its schema, configuration and error packages. */
  @Test
  void packagesUseOnlySchemaAndErrorsOfTheApi() {
    noClasses()
        .that()
        .resideInAPackage("io.fovea..")
        .and()
        .resideOutsideOfPackage("io.fovea")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.fovea")
        .check(CLASSES);
  }

  @Test
  void nothingUsesUnsafe() {
    noClasses()
        .should()
        .dependOnClassesThat(resideInAnyPackage("sun.misc..", "jdk.internal.."))
        .check(CLASSES);
  }

  /** Classes that read system properties, which don't affect results. */
  private static final Set<String> READS_PROPERTIES =
      Set.of(
          "io.fovea.buffer.Frames", // released frames are filled
          "io.fovea.io.FileLock", // locks of this JVM, across class loaders of the engine
          "io.fovea.io.LibcFile", // in a message
          "io.fovea.memory.SelfAdvice"); // saves pages by a system call

  private static final ArchRule NOTHING_ENDS_THE_PROCESS =
      noClasses()
          .should()
          .callMethod(Runtime.class, "halt", int.class)
          .orShould()
          .callMethod(Runtime.class, "exit", int.class)
          .orShould()
          .callMethod(System.class, "exit", int.class);

  private static final ArchRule PROPERTIES_CHANGE_NOTHING =
      noClasses()
          .that(
              DescribedPredicate.not(
                  resideInAPackage("io.fovea.bindings..")
                      .or(
                          DescribedPredicate.describe(
                              "are known", c -> READS_PROPERTIES.contains(c.getName())))))
          .should()
          .callMethodWhere(
              target(owner(type(System.class)))
                  .and(target(nameMatching("getProperty|getProperties")))
                  .or(
                      target(nameMatching("getBoolean|getInteger|getLong"))
                          .and(
                              target(
                                  owner(
                                      type(Boolean.class)
                                          .or(type(Integer.class))
                                          .or(type(Long.class)))))));

  private static final ArchRule NO_FAULTS =
      noClasses()
          .should()
          .haveNameMatching(".*(FaultInjection|Fail[Pp]oint|KillPoint|Poison|Switches|PageTrace).*")
          .orShould()
          .resideInAPackage("io.fovea.faults");

  /**
   * Production code has no switch that makes it incorrect and cannot end the process: tests weave
   * in faults. These rules apply to the tests' fault injection too.
   */
  @Test
  void faultsAreWovenIn() {
    JavaClasses faults =
        new ClassFileImporter()
            .importClasses(Failpoint.class, SelfAttach.class, FaultInjection.class);
    for (ArchRule rule : List.of(NOTHING_ENDS_THE_PROCESS, PROPERTIES_CHANGE_NOTHING, NO_FAULTS)) {
      assertThrows(AssertionError.class, () -> rule.check(faults), rule.getDescription());
      rule.check(CLASSES);
    }
  }

  @Test
  void nothingDependsOnMicrometer() {
    noClasses().should().dependOnClassesThat(resideInAPackage("io.micrometer..")).check(CLASSES);
  }

  @Test
  void nothingDependsOnPicocli() {
    noClasses().should().dependOnClassesThat(resideInAPackage("picocli..")).check(CLASSES);
  }

  @Test
  void exportedTypesNameOnlyExportedTypes() {
    DescribedPredicate<JavaClass> readable =
        resideInAnyPackage(
                "java..", "io.fovea", "io.fovea.config", "io.fovea.error", "io.fovea.schema")
            .or(HasName.Predicates.nameMatching("[a-z]+"))
            .as("a type that every user can read");
    members()
        .that()
        .areDeclaredInClassesThat()
        .resideInAnyPackage("io.fovea", "io.fovea.config", "io.fovea.error", "io.fovea.schema")
        .and()
        .areDeclaredInClassesThat()
        .arePublic()
        .and(modifier(PUBLIC).or(modifier(PROTECTED)))
        .should(
            new ArchCondition<>("name types of the API and the JDK only") {
              @Override
              public void check(JavaMember member, ConditionEvents events) {
                for (JavaClass type : member.getAllInvolvedRawTypes()) {
                  if (!readable.test(type.getBaseComponentType())) {
                    events.add(SimpleConditionEvent.violated(member, member.getFullName()));
                  }
                }
              }
            })
        .check(CLASSES);
  }
}
