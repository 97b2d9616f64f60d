package io.fovea;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaModifier.PROTECTED;
import static com.tngtech.archunit.core.domain.JavaModifier.PUBLIC;
import static com.tngtech.archunit.core.domain.properties.HasModifiers.Predicates.modifier;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.members;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaMember;
import com.tngtech.archunit.core.domain.properties.HasName;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
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
  void nothingKnowsMicrometer() {
    noClasses().should().dependOnClassesThat(resideInAPackage("io.micrometer..")).check(CLASSES);
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

  @Test
  void whatIsExportedNamesNothingElse() {
    DescribedPredicate<JavaClass> readable =
        resideInAnyPackage("java..", "io.fovea", "io.fovea.error")
            .or(HasName.Predicates.nameMatching("[a-z]+"))
            .as("a type that every user can read");
    members()
        .that()
        .areDeclaredInClassesThat()
        .resideInAnyPackage("io.fovea", "io.fovea.error")
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
