package io.fovea.jmh;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Every method of a point read is small enough to be inlined, except for the few that are meant to
 * be calls.
 *
 * <p>HotSpot inlines no method of more than 325 bytecodes (FreqInlineSize), however hot. This test
 * reads class files, so it does not depend on the compiler; {@link InliningCheck} shows its
 * decisions.
 */
class HotMethodSizeTest {
  private static final int FREQ_INLINE_SIZE = 325;

  /** {@code 12: aload_0}, and the head of a method, which ends with a semicolon. */
  private static final Pattern BYTECODE = Pattern.compile("^\\s+(\\d+): [a-z].*");

  private static final Pattern METHOD =
      Pattern.compile("^ {2}[\\w.$<>\\[\\], ?]*?([\\w$]+)\\(.*\\).*;$");

  private final Map<String, Map<String, Integer>> types = new HashMap<>();

  @TempDir Path folder;

  @Test
  void hotMethodsAreBelowTheLimit() throws IOException {
    Map<String, Integer> sizes = sizes(InliningCheck.HOT);
    sizes.values().removeIf(size -> size <= FREQ_INLINE_SIZE);
    assertEquals(Map.of(), sizes, "HotSpot inlines up to " + FREQ_INLINE_SIZE + " bytecodes");
  }

  /**
   * A wall that shrinks below the limit would be inlined, and the methods behind it no longer would
   * be.
   */
  @Test
  void wallsAreAboveTheLimit() throws IOException {
    Map<String, Integer> sizes = sizes(InliningCheck.WALLS);
    sizes.values().removeIf(size -> size > FREQ_INLINE_SIZE);
    assertEquals(Map.of(), sizes, "HotSpot inlines up to " + FREQ_INLINE_SIZE + " bytecodes");
  }

  private Map<String, Integer> sizes(List<String> methods) throws IOException {
    Map<String, Integer> sizes = new TreeMap<>();
    for (String name : methods) {
      String type = name.substring(0, name.lastIndexOf('.'));
      if (!types.containsKey(type)) {
        types.put(type, sizes(type));
      }
      Integer size = types.get(type).get(name.substring(name.lastIndexOf('.') + 1));
      assertNotNull(size, "there is no method " + name);
      sizes.put(name, size);
    }
    return sizes;
  }

  /** Returns the size of each method of a class; the largest of overloaded ones. */
  private Map<String, Integer> sizes(String type) throws IOException {
    URL file = HotMethodSizeTest.class.getResource('/' + type.replace('.', '/') + ".class");
    assertTrue(file != null, "no class " + type);
    Path copy = folder.resolve(type + ".class");
    try (InputStream in = file.openStream()) {
      Files.copy(in, copy);
    }
    StringWriter text = new StringWriter();
    PrintWriter out = new PrintWriter(text);
    ToolProvider javap = ToolProvider.findFirst("javap").orElseThrow();
    assertEquals(0, javap.run(out, out, "-c", "-p", copy.toString()), text::toString);
    Map<String, Integer> sizes = new HashMap<>();
    String method = "";
    for (String line : text.toString().split("\\R")) {
      Matcher m = METHOD.matcher(line);
      Matcher b = BYTECODE.matcher(line);
      if (m.matches()) {
        method = m.group(1);
      } else if (b.matches()) {
        // The position of the last instruction, which is one byte long, a return or a throw, or a
        // jump.
        sizes.merge(method, Integer.parseInt(b.group(1)) + 1, Math::max);
      }
    }
    return sizes;
  }
}
