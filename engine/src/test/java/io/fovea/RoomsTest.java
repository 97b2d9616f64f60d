package io.fovea;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Imports run one way only, from the API down to the errors. */
class RoomsTest {
  /** From the bottom to the top; each may use those before it. */
  private static final List<String> ROOMS =
      List.of(
          "io.fovea.error",
          "io.fovea.memory",
          "io.fovea.io",
          "io.fovea.wal",
          "io.fovea.buffer",
          "io.fovea.btree",
          "io.fovea.index",
          "io.fovea.txn",
          "io.fovea.recovery",
          "io.fovea",
          "io.fovea.metrics",
          "io.fovea.tool");

  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .importPackages("io.fovea");

  @Test
  void importsRunOneWay() {
    for (int i = 0; i < ROOMS.size(); i++) {
      String[] above = ROOMS.subList(i + 1, ROOMS.size()).toArray(String[]::new);
      if (above.length > 0) {
        noClasses()
            .that()
            .resideInAPackage(ROOMS.get(i))
            .should()
            .dependOnClassesThat(resideInAnyPackage(above))
            .allowEmptyShould(true)
            .because("a room uses only those below it")
            .check(CLASSES);
      }
    }
  }

  @Test
  void everyClassHasARoom() {
    String[] rooms = ROOMS.toArray(String[]::new);
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

  @Test
  void nothingUsesUnsafe() {
    noClasses()
        .should()
        .dependOnClassesThat(resideInAnyPackage("sun.misc..", "jdk.internal.."))
        .check(CLASSES);
  }

  @Test
  void onlyMetricsKnowsMicrometer() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.fovea.metrics")
        .should()
        .dependOnClassesThat(resideInAPackage("io.micrometer.."))
        .check(CLASSES);
  }

  @Test
  void onlyToolsKnowPicocli() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.fovea.tool")
        .should()
        .dependOnClassesThat(resideInAPackage("picocli.."))
        .check(CLASSES);
  }
}
