package io.fovea.reachability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import io.fovea.bindings.Libc;
import io.fovea.reachability.DynamicCalls.Site;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The metadata for native-image in the jars is what bindings and engine need. */
class ReachabilityMetadataTest {
  /** Methods that reflect records, enums and keys of users, who register these themselves. */
  private static final Set<String> REFLECT_USER_CLASSES =
      Set.of(
          "io.fovea.object.Bindings.accessor",
          "io.fovea.object.Bindings.collect",
          "io.fovea.object.Bindings.constructor",
          "io.fovea.object.Bindings.function",
          "io.fovea.object.Bindings.record",
          "io.fovea.object.EnumBinding.constants",
          "io.fovea.object.ObjectCodec.id");

  /** Methods that define classes. The guide says what does not work in a native image for it. */
  private static final Set<String> DEFINE_CLASSES = Set.of("io.fovea.object.PlanTemplate.of");

  private static final Collection<Site> SITES =
      DynamicCalls.in(
          Stream.of(Libc.class, Database.class)
              .map(DynamicCalls::filesOf)
              .flatMap(Collection::stream)
              .toList());

  @BeforeAll
  static void trace(@TempDir Path folder) throws Exception {
    ClassLoader loader =
        new TracingLoader(
            ReachabilityMetadataTest.class.getClassLoader(),
            SITES.stream().map(Site::className).collect(Collectors.toSet()));
    Class.forName(Workload.class.getName(), true, loader)
        .getMethod("run", Path.class)
        .invoke(null, folder);
    for (Site site : SITES) {
      if (site.method().startsWith("<clinit>")) {
        Class.forName(site.className(), true, loader);
      }
    }
  }

  @Test
  void everyDynamicCallIsTraced() {
    Set<Site> missed = new TreeSet<>(SITES);
    missed.removeAll(Trace.reached());
    assertEquals(
        Set.of(), Trace.unknown(), "Describe these calls in Trace, or avoid dynamic access.");
    assertEquals(Set.of(), missed, "Let Workload run these calls, or avoid dynamic access.");
    assertTrue(SITES.size() > 50, SITES::toString);
  }

  @ParameterizedTest
  @ValueSource(strings = {"fovea-bindings", "fovea-engine"})
  void shippedMetadataIsWhatIsTraced(String artifact) throws IOException {
    String name = "META-INF/native-image/io.fovea/" + artifact + "/reachability-metadata.json";
    String shipped;
    try (InputStream in = Database.class.getResourceAsStream("/" + name)) {
      shipped = in == null ? "" : new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
    String traced = Trace.metadata(artifact);
    Path copy = Path.of("target", artifact + "-reachability-metadata.json");
    if (!traced.equals(shipped)) {
      Files.writeString(copy, traced);
    }
    assertEquals(
        traced.lines().toList(),
        shipped.lines().toList(),
        () -> "If the new calls are intended, copy " + copy + " to src/main/resources/" + name);
  }

  @Test
  void userClassesAreReflectedByTheObjectMapperOnly() {
    assertEquals(
        new TreeSet<>(REFLECT_USER_CLASSES),
        Trace.callersThatReflectUserClasses(),
        "see the guide");
  }

  @Test
  void classesAreDefinedByTheObjectMapperOnly() {
    assertEquals(new TreeSet<>(DEFINE_CLASSES), Trace.callersThatDefineClasses(), "see the guide");
  }
}
