package io.fovea.bindings;

import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.util.List;

/**
 * Tells whether io_uring can be used here.
 *
 * <p>There are three obstacles. The library is missing or older than 2.3. The kernel lacks
 * io_uring, or an operation that {@link Ring} uses. Or the kernel refuses: containers commonly
 * filter the system call (EPERM, ENOSYS), {@code kernel.io_uring_disabled} forbids it (EPERM), and
 * older kernels count rings against the limit of locked memory (ENOMEM). Each is reported as an
 * {@link Availability.Unavailable} with its reason.
 *
 * <p>The generated classes load the library in static initializers, where a failure would be
 * permanent. So nothing here touches them until a separate lookup has succeeded. Stateless; any
 * thread.
 *
 * @since 0.1.0
 */
public final class Uring {
  /** The name by which the generated class loads the library. */
  static final String LIBRARY = "liburing.so.2";

  /** A symbol present in every version, and the newest ones that Ring calls, from 2.2 and 2.3. */
  private static final List<String> SYMBOLS =
      List.of(
          "io_uring_queue_init_params", "io_uring_submit_and_wait_timeout", "io_uring_get_events");

  private static final int PROBE_ENTRIES = 4;

  private Uring() {}

  /**
   * Loads the library, then opens and closes a small ring. The answer is not cached: the
   * administrator may allow or forbid io_uring while the process runs.
   *
   * @return the answer; never throws
   * @since 0.1.0
   */
  public static Availability probe() {
    return probe(LIBRARY, SYMBOLS);
  }

  static Availability probe(String library, List<String> symbols) {
    String unsupported = Platform.unsupported();
    if (unsupported != null) {
      return new Availability.Unavailable("io_uring " + unsupported, 0);
    }
    try (Arena arena = Arena.ofConfined()) {
      SymbolLookup lookup = SymbolLookup.libraryLookup(library, arena);
      for (String symbol : symbols) {
        if (lookup.find(symbol).isEmpty()) {
          return new Availability.Unavailable(
              library + " is older than 2.3, it has no " + symbol, 0);
        }
      }
    } catch (IllegalCallerException e) {
      return new Availability.Unavailable(
          "native access is denied, start the JVM with "
              + NativeAccess.missingOption(Uring.class.getModule()),
          0);
    } catch (IllegalArgumentException e) {
      return new Availability.Unavailable(
          library + " cannot be loaded, install liburing2 (Debian, Ubuntu) or liburing", 0);
    } catch (UnsupportedOperationException e) {
      return new Availability.Unavailable("this JVM has no foreign linker", 0);
    }
    return Thread.currentThread().isVirtual() ? onPlatformThread(library) : kernel(library);
  }

  /** Explains a setup error to the user. */
  static Availability.Unavailable refused(int errno) {
    String reason =
        switch (Math.abs(errno)) {
          case Errno.EPERM, Errno.EACCES ->
              "the kernel forbids io_uring here (kernel.io_uring_disabled, or a container's seccomp"
                  + " filter)";
          case Errno.ENOSYS ->
              "the kernel has no io_uring, or a container's seccomp filter hides it";
          case Errno.ENOMEM -> "the limit of locked memory (ulimit -l) is too low for io_uring";
          case Errno.EMFILE, Errno.ENFILE -> "no file descriptor is left for io_uring";
          default -> "the kernel refuses to set up io_uring";
        };
    return new Availability.Unavailable(reason, Math.abs(errno));
  }

  private static Availability kernel(String library) {
    try (Ring ring = Ring.open(PROBE_ENTRIES)) {
      String missing = ring.missing();
      return missing.isEmpty()
          ? new Availability.Available(library, Platform.KERNEL, ring.features(), ring.setupFlags())
          : new Availability.Unavailable(missing, 0);
    } catch (NativeException e) {
      return refused(e.errno());
    }
  }

  /** Runs the probe on a platform thread, since a virtual thread cannot own a ring. */
  private static Availability onPlatformThread(String library) {
    Availability[] answer = new Availability[1];
    Thread thread =
        Thread.ofPlatform()
            .name("fovea-uring-probe")
            .daemon()
            .unstarted(() -> answer[0] = kernel(library));
    thread.start();
    boolean interrupted = false;
    while (true) {
      try {
        thread.join();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return answer[0];
  }
}
