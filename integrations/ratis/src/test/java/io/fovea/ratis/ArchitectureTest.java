package io.fovea.ratis;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackages;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import org.junit.jupiter.api.Test;

/** The replica depends on no consensus protocol, and neither package on internals of the engine. */
class ArchitectureTest {
  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .importUrl(ReplicatedDatabase.class.getProtectionDomain().getCodeSource().getLocation());

  @Test
  void theReplicaKnowsNoProtocol() {
    noClasses()
        .that(resideInAPackage("io.fovea.replication"))
        .should()
        .dependOnClassesThat(
            resideOutsideOfPackages(
                "java..",
                "org.jspecify..",
                "io.fovea.replication",
                "io.fovea",
                "io.fovea.config",
                "io.fovea.schema",
                "io.fovea.error"))
        .check(CLASSES);
  }

  @Test
  void theAdapterUsesExportedPackagesAlone() {
    noClasses()
        .that(resideInAPackage("io.fovea.ratis"))
        .should()
        .dependOnClassesThat(
            resideInAPackage("io.fovea..")
                .and(
                    resideOutsideOfPackages(
                        "io.fovea.ratis",
                        "io.fovea.replication",
                        "io.fovea",
                        "io.fovea.config",
                        "io.fovea.schema",
                        "io.fovea.error")))
        .check(CLASSES);
  }

  @Test
  void onlyTheCommandNeedsPicocli() {
    noClasses()
        .that()
        .haveNameNotMatching(".*\\.ReplicaCommand(\\$.*)?")
        .should()
        .dependOnClassesThat(resideInAPackage("picocli.."))
        .check(CLASSES);
  }

  @Test
  void onlyTheMetersNeedMicrometer() {
    noClasses()
        .that()
        .doNotHaveSimpleName("ReplicationMetrics")
        .should()
        .dependOnClassesThat(resideInAPackage("io.micrometer.."))
        .check(CLASSES);
  }
}
