package io.fovea.bindings;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Tells whether the JVM lets a module call native code, and whether an option grants it. Without
 * the option newer JDKs warn or refuse. Stateless; any thread.
 *
 * @since 0.1.0
 */
public final class NativeAccess {
  private NativeAccess() {}

  /**
   * Tells whether the JVM lets these bindings call native code, possibly with a warning.
   *
   * @return false if calls throw {@link IllegalCallerException}
   * @since 0.1.0
   */
  public static boolean granted() {
    try {
      return MemorySegment.NULL.reinterpret(1).byteSize() == 1;
    } catch (IllegalCallerException e) {
      return false;
    }
  }

  /**
   * Returns the command-line option that a module and these bindings lack.
   *
   * @param module the module that is going to use restricted methods, in addition to this one
   * @return for example {@code "--enable-native-access=ALL-UNNAMED"}, or null if nothing is missing
   * @since 0.1.0
   */
  public static @Nullable String missingOption(Module module) {
    Module bindings = NativeAccess.class.getModule();
    StringBuilder names = new StringBuilder();
    if (!bindings.isNativeAccessEnabled()) {
      names.append(name(bindings));
    }
    if (module != bindings && !module.isNativeAccessEnabled()) {
      String name = name(module);
      if (!names.toString().equals(name)) {
        names.append(names.isEmpty() ? "" : ",").append(name);
      }
    }
    return names.isEmpty() ? null : "--enable-native-access=" + names;
  }

  private static String name(Module module) {
    return module.isNamed() ? module.getName() : "ALL-UNNAMED";
  }
}
