package io.fovea.bindings;

import org.jspecify.annotations.Nullable;

/** The platforms that these bindings support. Stateless; any thread. */
final class Platform {
  private static final String OS = System.getProperty("os.name", "");
  private static final String ARCH = System.getProperty("os.arch", "");

  /** AArch64 has other values for O_DIRECT and O_DIRECTORY. */
  static final boolean AARCH64 = ARCH.equals("aarch64");

  /** The release of the running kernel. */
  static final String KERNEL = System.getProperty("os.version", "?");

  private Platform() {}

  /** Returns why these bindings cannot work on this platform, or null if it is supported. */
  static @Nullable String unsupported() {
    if (!OS.equals("Linux")) {
      return "needs Linux, this is " + OS;
    }
    if (!AARCH64 && !ARCH.equals("amd64")) {
      return "needs x86-64 or AArch64, this is " + ARCH;
    }
    return null;
  }
}
