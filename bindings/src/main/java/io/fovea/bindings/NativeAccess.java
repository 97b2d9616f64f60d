package io.fovea.bindings;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Whether the JVM lets a module call native code, and was told to. Newer JDKs warn where they were
 * not told, or refuse. Stateless; any thread.
 *
 * @since 0.1.0
 */
public final class NativeAccess {
  private NativeAccess() {}

  /**
   * Whether the JVM lets these bindings call native code: it was told to, or only warns.
   *
   * @return false where it throws {@link IllegalCallerException} instead
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
   * The option that is missing on the command line for a module and for these bindings.
   *
   * @param module the module that is going to use restricted methods, besides this one
   * @return for example {@code "--enable-native-access=ALL-UNNAMED"}, or null where nothing is
   *     missing
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
