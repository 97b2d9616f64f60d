package io.fovea.consumers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.DataInputStream;
import java.io.IOException;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The published artifacts: their descriptors, their OSGi headers, and their bill of materials. */
class PublishedTest {
  private static final Path ROOT = Path.of("..", "..");
  private static final Pattern ARTIFACT =
      Pattern.compile("(?s)</parent>\\s*<artifactId>([^<]+)</artifactId>");
  private static final Pattern ARTIFACT_ID = Pattern.compile("<artifactId>([^<]+)</artifactId>");
  private static final int JAVA_9 = 53;

  /** The packages of dependencies that are optional in a POM, and of what these need. */
  private static final Map<String, List<String>> OPTIONAL_PACKAGES =
      Map.of(
          "fovea-micrometer", List.of("io.fovea.micrometer.", "io.micrometer."),
          "junit-jupiter-api", List.of("org.junit."),
          "micrometer-core", List.of("io.micrometer."),
          "picocli", List.of("picocli."),
          "spring-boot-actuator-autoconfigure", List.of("org.springframework.boot.actuate."),
          "spring-boot-health", List.of("org.springframework.boot.health."),
          "spring-boot-test-autoconfigure", List.of("org.springframework.boot.test."),
          "spring-test", List.of("org.springframework.test."));

  static List<Path> jars() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("target", "published"))) {
      return files.sorted().toList();
    }
  }

  @ParameterizedTest
  @MethodSource("jars")
  void theBundleExportsWhatTheModuleExports(Path file) throws IOException {
    ModuleDescriptor module = descriptor(file);
    Attributes manifest = manifest(file);
    assertEquals(module.name(), manifest.getValue("Bundle-SymbolicName"));
    Set<String> exported =
        module.isAutomatic()
            ? module.packages()
            : module.exports().stream()
                .map(ModuleDescriptor.Exports::source)
                .collect(Collectors.toSet());
    assertEquals(new TreeSet<>(exported), packages(manifest, "Export-Package"));
  }

  @ParameterizedTest
  @MethodSource("jars")
  void eachJarNamesItsModuleOnce(Path file) throws IOException {
    String name = manifest(file).getValue("Automatic-Module-Name");
    try (JarFile jar = new JarFile(file.toFile())) {
      if (jar.getEntry("module-info.class") == null) {
        assertNotNull(name, "neither a descriptor nor an Automatic-Module-Name");
        return;
      }
      assertNull(name, "a descriptor and an Automatic-Module-Name");
      // Newer descriptors can't be packaged by the jar tool of JDK 17.
      try (DataInputStream in =
          new DataInputStream(jar.getInputStream(jar.getEntry("module-info.class")))) {
        in.skipNBytes(6);
        assertEquals(JAVA_9, in.readUnsignedShort(), "class file version of the descriptor");
      }
    }
  }

  @Test
  void bundlesFindWhatTheyImportFromEachOther() throws IOException {
    Set<String> exported = new TreeSet<>();
    for (Path file : jars()) {
      exported.addAll(packages(manifest(file), "Export-Package"));
    }
    for (Path file : jars()) {
      Set<String> missing = packages(manifest(file), "Import-Package");
      missing.removeIf(name -> !name.startsWith("io.fovea") || exported.contains(name));
      assertEquals(Set.of(), missing, file::toString);
    }
  }

  /** Bundles resolve without annotations and optional dependencies, and not without others. */
  @ParameterizedTest
  @MethodSource("jars")
  void importsOfOptionalDependenciesAreOptional(Path file) throws IOException {
    List<String> optional = new ArrayList<>(List.of("org.jspecify."));
    for (MatchResult dependency : all("(?s)<dependency>(.*?)</dependency>", pomOf(file))) {
      if (dependency.group(1).contains("<optional>true</optional>")) {
        String artifact =
            ARTIFACT_ID.matcher(dependency.group(1)).results().findFirst().orElseThrow().group(1);
        List<String> packages = OPTIONAL_PACKAGES.get(artifact);
        assertNotNull(packages, "OPTIONAL_PACKAGES lacks the packages of " + artifact);
        optional.addAll(packages);
      }
    }
    String imported = manifest(file).getValue("Import-Package");
    for (String clause : imported.replaceAll("\"[^\"]*\"", "").split(",")) {
      assertEquals(
          optional.stream().anyMatch(p -> (clause.replaceFirst(";.*", "") + ".").startsWith(p)),
          clause.contains("resolution:=optional"),
          clause);
    }
  }

  @ParameterizedTest
  @MethodSource("jars")
  void theManifestSaysNothingOfTheMachineOrTheTime(Path file) throws IOException {
    Attributes manifest = manifest(file);
    for (String name : List.of("Bnd-LastModified", "Built-By", "Build-Jdk", "Build-Time")) {
      assertNull(manifest.getValue(name), name);
    }
    String version = manifest.getValue("Bundle-Version");
    String built = manifest.getValue("Implementation-Version");
    assertEquals(built.replace("-SNAPSHOT", ".SNAPSHOT"), version);
  }

  @Test
  void theBillOfMaterialsListsAllPublishedModules() throws IOException {
    Set<String> published = new TreeSet<>();
    for (MatchResult module : all("<module>([^<]+)</module>", ROOT.resolve("pom.xml"))) {
      String pom = Files.readString(ROOT.resolve(module.group(1)).resolve("pom.xml"));
      if (!pom.contains("<maven.deploy.skip>true</maven.deploy.skip>")
          && !pom.contains("<packaging>pom</packaging>")) {
        published.add(ARTIFACT.matcher(pom).results().findFirst().orElseThrow().group(1));
      }
    }
    assertFalse(published.isEmpty());
    Set<String> listed = new TreeSet<>();
    Path bom = ROOT.resolve("integrations/bom/pom.xml");
    for (MatchResult dependency :
        all("<dependency>\\s*<groupId>io.fovea</groupId>\\s*<artifactId>([^<]+)<", bom)) {
      listed.add(dependency.group(1));
    }
    assertEquals(published, listed, "integrations/bom/pom.xml");
    Set<String> checked =
        jars().stream()
            .map(f -> f.getFileName().toString().replaceFirst("-[0-9].*", ""))
            .collect(Collectors.toCollection(TreeSet::new));
    assertEquals(published, checked, "the execution published of integrations/consumers/pom.xml");
  }

  private static List<MatchResult> all(String regex, Path file) throws IOException {
    return Pattern.compile(regex).matcher(Files.readString(file)).results().toList();
  }

  /** The POM of the module that a jar comes from. */
  private static Path pomOf(Path jar) throws IOException {
    String artifact = jar.getFileName().toString().replaceFirst("-[0-9].*", "");
    for (MatchResult module : all("<module>([^<]+)</module>", ROOT.resolve("pom.xml"))) {
      Path pom = ROOT.resolve(module.group(1)).resolve("pom.xml");
      if (Files.readString(pom).contains("<artifactId>" + artifact + "</artifactId>\n  <name>")) {
        return pom;
      }
    }
    throw new AssertionError("no module has the artifact " + artifact);
  }

  private static ModuleDescriptor descriptor(Path file) {
    return ModuleFinder.of(file).findAll().iterator().next().descriptor();
  }

  private static Attributes manifest(Path file) throws IOException {
    try (JarFile jar = new JarFile(file.toFile())) {
      return jar.getManifest().getMainAttributes();
    }
  }

  /** The packages that a header lists, without attributes and directives. */
  private static Set<String> packages(Attributes manifest, String header) {
    String value = manifest.getValue(header);
    assertNotNull(value, header);
    return Stream.of(value.replaceAll("\"[^\"]*\"", "").split(","))
        .map(clause -> clause.replaceFirst(";.*", "").strip())
        .collect(Collectors.toCollection(TreeSet::new));
  }
}
