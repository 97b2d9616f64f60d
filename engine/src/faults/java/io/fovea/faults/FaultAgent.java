package io.fovea.faults;

import io.fovea.buffer.PageTrace;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Weaves {@link FaultPoints} into the engine as its classes are loaded, in whatever class loader.
 *
 * <pre>
 *   tests       at the start of the launcher's session ({@link io.fovea.order.WatchedSession})
 *   children    -javaagent:JAR=failpoint=commit.appended:3
 *   benchmarks  {@link #loadHints}, where one wants wrong hints; -javaagent:JAR=trace=FILE
 * </pre>
 *
 * <p>Classes that are loaded already are not woven: JDK 25 loses static fields of a class that one
 * thread initializes while another one retransforms it.
 */
public final class FaultAgent {
  private static final String FAILPOINT = "failpoint=";
  private static final String TRACE = "trace=";
  private static final String HINTS = "hints";

  private FaultAgent() {}

  /**
   * Loads the agent into this JVM, before any class of the engine is loaded.
   *
   * @throws IllegalStateException if the JVM does not allow that
   */
  public static void load() {
    load("");
  }

  /** The same for hints alone: all else is as without the agent. */
  public static void loadHints() {
    load(HINTS);
  }

  private static void load(String what) {
    if (!SelfAttach.isAllowed()) {
      throw new IllegalStateException(
          "Faults are woven in by an agent: start the JVM with"
              + " -Djdk.attach.allowAttachSelf=true -XX:+EnableDynamicAgentLoading.");
    }
    SelfAttach.load(FaultAgent.class, what);
  }

  /**
   * The option of a child JVM that has a {@link Failpoint} armed.
   *
   * @param jar where to write what the option names
   * @param point {@code name} or {@code name:n}
   */
  public static String option(Path jar, String point) throws java.io.IOException {
    SelfAttach.write(jar, FaultAgent.class);
    return "-javaagent:" + jar + "=" + FAILPOINT + point;
  }

  /** The names of all {@link Failpoint}s, in order. */
  public static Set<String> failpoints() {
    return FaultPoints.failpointNames();
  }

  /** Called by the JVM at its start. */
  public static void premain(@Nullable String arguments, Instrumentation jvm) {
    agentmain(arguments, jvm);
  }

  /** Called by the JVM. */
  public static void agentmain(@Nullable String arguments, Instrumentation jvm) {
    String what = arguments == null ? "" : arguments;
    Set<String> types = FaultPoints.types(); // here: while it is loaded it can't be asked
    if (what.startsWith(FAILPOINT)) {
      Failpoint.arm(what.substring(FAILPOINT.length()));
    } else if (what.startsWith(TRACE)) {
      FaultPoints.trace();
      types = Set.of(FaultPoints.TRACED);
      PageTrace.begin(what.substring(TRACE.length()));
    } else if (what.equals(HINTS)) {
      types = FaultPoints.hintTypes();
    }
    jvm.addTransformer(new Transformer(types));
  }

  private record Transformer(Set<String> types) implements ClassFileTransformer {
    @Override
    public byte @Nullable [] transform(
        @Nullable ClassLoader loader,
        @Nullable String name,
        @Nullable Class<?> again,
        @Nullable ProtectionDomain domain,
        byte[] bytes) {
      if (name == null || again != null || !types.contains(name)) {
        return null;
      }
      try {
        return FaultPoints.weave(name, bytes);
      } catch (Throwable t) {
        t.printStackTrace(); // the JVM would load the class as it is, and say nothing
        throw t;
      }
    }
  }
}
