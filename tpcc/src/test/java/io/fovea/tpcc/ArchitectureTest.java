package io.fovea.tpcc;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** The packages of the driver have no cycles, and use only the engine's API. */
class ArchitectureTest {
  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .importPackages("io.fovea.tpcc");

  @Test
  void noCircles() {
    slices().matching("io.fovea.(**)").should().beFreeOfCycles().check(CLASSES);
  }

  @Test
  void theEngineByItsApi() {
    noClasses()
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(
            "io.fovea.memory..",
            "io.fovea.io..",
            "io.fovea.wal..",
            "io.fovea.buffer..",
            "io.fovea.btree..",
            "io.fovea.index..",
            "io.fovea.txn..",
            "io.fovea.recovery..",
            "io.fovea.bindings..")
        .check(CLASSES);
  }
}
