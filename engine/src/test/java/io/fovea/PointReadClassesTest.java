package io.fovea;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.MethodVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.Opcodes;
import io.fovea.schema.TableSpec;
import io.fovea.support.WeavingLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * A warm {@link Table#get} within a transaction passes through few classes: those whose methods
 * most reads call. A failure lists them.
 */
class PointReadClassesTest {
  private static final int CLASSES_MAX = 30;

  @Test
  void fewClasses() throws Exception {
    new Weaver().loadClass(Reads.class.getName()).getMethod("run").invoke(null);
    Map<String, TreeSet<String>> methods = new TreeMap<>();
    Probe.READS.forEach(
        (method, reads) -> {
          if (reads > Reads.COUNT / 2) {
            int dot = method.lastIndexOf('.');
            methods
                .computeIfAbsent(method.substring(0, dot), type -> new TreeSet<>())
                .add(method.substring(dot + 1));
          }
        });
    List<String> lines = new ArrayList<>();
    methods.forEach((type, names) -> lines.add(type + " " + names));
    assertTrue(
        !methods.isEmpty() && methods.size() <= CLASSES_MAX,
        () -> methods.size() + " classes:\n" + String.join("\n", lines));
  }

  /** The work, on the engine that {@link Weaver} loads. */
  public static final class Reads {
    static final int COUNT = 200;

    private Reads() {}

    public static void run() {
      byte[][] keys = new byte[10 * COUNT][];
      try (Database db = Database.inMemory(Options.defaults())) {
        Table<byte[], byte[]> table = db.table(TableSpec.bytes("t", 40)).bytes();
        db.run(
            tx -> {
              for (int i = 0; i < keys.length; i++) {
                keys[i] = ("key" + i).getBytes();
                table.put(tx, keys[i], ("value" + i).getBytes());
              }
            });
        db.run(
            tx -> {
              for (int i = 0; i < COUNT; i++) {
                table.get(tx, keys[i * 9]);
              }
              for (int i = 0; i < COUNT; i++) {
                Probe.begin();
                table.get(tx, keys[i * 9 + 1]);
                Probe.end();
              }
            });
      }
    }
  }

  /** Counts in how many reads each method is called. */
  public static final class Probe {
    static final Map<String, Integer> READS = new TreeMap<>();
    private static final TreeSet<String> CALLED = new TreeSet<>();
    private static volatile Thread reader;

    private Probe() {}

    public static void at(String method) {
      if (Thread.currentThread() == reader) {
        CALLED.add(method);
      }
    }

    public static void begin() {
      reader = Thread.currentThread();
    }

    public static void end() {
      reader = null;
      CALLED.forEach(method -> READS.merge(method, 1, Integer::sum));
      CALLED.clear();
    }
  }

  /** Loads the engine with a call of {@link Probe} at the start of each method. */
  private static final class Weaver extends WeavingLoader {
    private static final String PROBE = Probe.class.getName().replace('.', '/');

    Weaver() {
      super(PointReadClassesTest.class.getClassLoader(), Probe.class);
    }

    @Override
    protected boolean weaves(String name) {
      return !name.startsWith(PointReadClassesTest.class.getName())
          && !name.startsWith("io.fovea.faults.")
          && !name.startsWith("io.fovea.txn.FaultInjection");
    }

    @Override
    protected ClassVisitor woven(ClassVisitor next) {
      return new ClassVisitor(Opcodes.ASM9, next) {
        private String type = "";

        @Override
        public void visit(
            int version,
            int access,
            String name,
            String signature,
            String base,
            String[] interfaces) {
          type = name.replace('/', '.');
          super.visit(version, access, name, signature, base, interfaces);
        }

        @Override
        public MethodVisitor visitMethod(
            int access, String name, String descriptor, String signature, String[] exceptions) {
          String method = type + "." + name;
          return new MethodVisitor(
              Opcodes.ASM9, super.visitMethod(access, name, descriptor, signature, exceptions)) {
            @Override
            public void visitCode() {
              super.visitCode();
              visitLdcInsn(method);
              visitMethodInsn(Opcodes.INVOKESTATIC, PROBE, "at", "(Ljava/lang/String;)V", false);
            }
          };
        }
      };
    }
  }
}
