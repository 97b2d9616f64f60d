package io.fovea.faults;

import io.fovea.buffer.PageTrace;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Weaves {@link FaultPoints} into the engine as its classes are loaded, in every class loader.
 *
 * <pre>
 *   tests       at the start of the launcher's session ({@link io.fovea.order.WatchedSession})
 *   children    -javaagent:JAR=failpoint=commit.appended:3
 *   benchmarks  {@link #loadHints}, for wrong hints; -javaagent:JAR=trace=FILE
 * </pre>
 *
 * <p>Loaded classes are not woven: JDK 25 loses static fields of a class that one thread
 * initializes while another one retransforms it.
 */
public final class FaultAgent {
  private static final String FAILPOINT = "failpoint=";
  private static final String TRACE = "trace=";
  private static final String HINTS = "hints";

  private FaultAgent() {}

  /**
   * Loads the agent into this JVM, before any class of the engine is loaded.
   *
   * @throws IllegalStateException if the JVM does not allow it
   */
  public static void load() {
    load("");
  }

  /** Loads the agent for wrong hints only. */
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
   * Returns the option of a child JVM with an armed {@link Failpoint}.
   *
   * @param jar the agent's jar, which is written
   * @param point {@code name} or {@code name:n}
   */
  public static String option(Path jar, String point) throws java.io.IOException {
    SelfAttach.write(jar, FaultAgent.class);
    return "-javaagent:" + jar + "=" + FAILPOINT + point;
  }

  /** Returns the names of all {@link Failpoint}s, in order. */
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
    Set<String> types =
        FaultPoints.types(); // here, since the transformer cannot use the class while it is loaded
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
        t.printStackTrace(); // the JVM would silently load the class unchanged
        throw t;
      }
    }
  }
}
