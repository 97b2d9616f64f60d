package io.fovea.order;

import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassReader;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassWriter;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.Label;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.MethodVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.Opcodes;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.Type;
import io.fovea.faults.SelfAttach;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.CodeSource;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Weaves calls of {@link LockOrder} into the engine as its classes are loaded. Locks are replaced
 * by {@link OrderedLocks}; monitors and other waits are recorded.
 */
public final class LockOrderAgent {
  private static final String ORDER = "io/fovea/order/LockOrder";
  private static final String LOCKS = "io/fovea/order/OrderedLocks$";

  private static final Map<String, String> MADE =
      Map.of(
          "java/util/concurrent/locks/ReentrantLock", LOCKS + "Reentrant",
          "io/fovea/memory/OperationLock", LOCKS + "Operation",
          "io/fovea/memory/SharedOperationLock", LOCKS + "Shared");

  /** Methods that begin a wait, by class and method, with the name of what they wait for. */
  private static final Map<String, String> WAITS =
      Map.of(
          "io/fovea/recovery/Checkpointer.awaitLogSpace", "Checkpointer.awaitLogSpace",
          "io/fovea/recovery/Checkpointer.checkpoint", "Checkpointer.checkpoint",
          "io/fovea/txn/Admission.enter", "Admission.enter",
          "io/fovea/txn/TxEngine.beginAlone", "Admission.enter",
          "io/fovea/catalog/IndexBuild.awaitOthers", "Admission.enter",
          "io/fovea/catalog/FreshTrees.awaitBackups", "FreshTrees.awaitBackups",
          "io/fovea/wal/Log.awaitDurable", "Log.awaitDurable",
          "io/fovea/wal/Space.await", "Space.await");

  /** Methods after which something is held. */
  private static final Map<String, String> HOLDS =
      Map.of(
          "io/fovea/wal/LogSession.begin", "Checkpointer.awaitLogSpace",
          "io/fovea/txn/Tx.start", "Admission.enter");

  private static final CodeSource TESTS =
      LockOrderAgent.class.getProtectionDomain().getCodeSource();

  private static volatile boolean watching;

  private LockOrderAgent() {}

  /** Returns whether the engine is woven. */
  static boolean isWatching() {
    return watching;
  }

  /**
   * Starts the agent if {@code -Dfovea.lockOrder=true}, once, before classes of the engine are
   * loaded.
   */
  static void watch() {
    Path page = page();
    if (Boolean.getBoolean("fovea.lockOrder") && page != null) {
      SelfAttach.load(LockOrderAgent.class, page.toString());
    }
  }

  /** Finds the page with the order, here or in a parent folder; null if there is none. */
  static @Nullable Path page() {
    for (Path dir = Path.of("").toAbsolutePath(); dir != null; dir = dir.getParent()) {
      Path page = dir.resolve("docs/internals/concurrency.md");
      if (Files.exists(page)) {
        return page;
      }
    }
    return null;
  }

  /** Called by the JVM. */
  public static void agentmain(String page, Instrumentation jvm) {
    LockOrder.read(Path.of(page));
    // Loaded classes are not rewoven: JDK 25 loses static fields of a class that one thread
    // initializes
    // while another one retransforms it.
    jvm.addTransformer(new Weaver());
    watching = true;
  }

  /** Returns whether a class belongs to the engine, and is neither a replacement nor a test. */
  private static boolean isWoven(
      @Nullable ClassLoader loader, String name, @Nullable ProtectionDomain domain) {
    return loader == LockOrderAgent.class.getClassLoader()
        && name.startsWith("io/fovea/")
        && domain != null
        && domain.getCodeSource() != null
        && !domain.getCodeSource().equals(TESTS)
        && !name.startsWith("io/fovea/bindings/")
        && !name.equals("io/fovea/memory/OperationLock")
        && !name.equals("io/fovea/memory/SharedOperationLock");
  }

  private static final class Weaver implements ClassFileTransformer {
    @Override
    public byte @Nullable [] transform(
        @Nullable ClassLoader loader,
        @Nullable String name,
        @Nullable Class<?> again,
        @Nullable ProtectionDomain domain,
        byte[] bytes) {
      if (name == null || !isWoven(loader, name, domain)) {
        return null;
      }
      try {
        return weave(bytes);
      } catch (Throwable t) {
        t.printStackTrace();
        throw t;
      }
    }
  }

  static byte[] weave(byte[] bytes) {
    ClassReader reader = new ClassReader(bytes);
    ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
    reader.accept(new Woven(writer), 0);
    return writer.toByteArray();
  }

  private static final class Woven extends ClassVisitor {
    private String owner = "";

    Woven(ClassVisitor next) {
      super(Opcodes.ASM9, next);
    }

    @Override
    public void visit(
        int version, int access, String name, String signature, String base, String[] interfaces) {
      owner = name;
      super.visit(version, access, name, signature, base, interfaces);
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String name, String descriptor, String signature, String[] exceptions) {
      MethodVisitor next = super.visitMethod(access, name, descriptor, signature, exceptions);
      boolean code = (access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_NATIVE)) == 0;
      return code ? new Method(next, owner, access, name, descriptor) : next;
    }
  }

  private static final class Method extends MethodVisitor {
    private final String owner;
    private final String shortName;
    private final String descriptor;
    private final String key;
    private final boolean locked;
    private final Label begin = new Label();
    private final Label end = new Label();
    private final Label thrown = new Label();

    Method(MethodVisitor next, String owner, int access, String name, String descriptor) {
      super(Opcodes.ASM9, next);
      this.owner = owner;
      this.shortName = owner.substring(owner.lastIndexOf('/') + 1).replace('$', '.');
      this.descriptor = descriptor;
      this.key = owner + "." + name;
      this.locked = (access & Opcodes.ACC_SYNCHRONIZED) != 0 && (access & Opcodes.ACC_STATIC) == 0;
    }

    private void call(String called, String type) {
      super.visitMethodInsn(Opcodes.INVOKESTATIC, ORDER, called, type, false);
    }

    @Override
    public void visitCode() {
      super.visitCode();
      String waits = WAITS.get(key);
      if (waits != null) {
        super.visitLdcInsn(waits);
        call("waits", "(Ljava/lang/String;)V");
      }
      if (key.equals("io/fovea/wal/LogSession.endActive")) {
        super.visitVarInsn(Opcodes.ALOAD, 0);
        call("ends", "(Ljava/lang/Object;)V");
      }
      if (key.equals("io/fovea/txn/TxEngine.stopAdmission")) {
        super.visitVarInsn(Opcodes.ALOAD, 0);
        call("endsAll", "(Ljava/lang/Object;)V");
      }
      if (key.equals("io/fovea/txn/TxEngine.ended")) {
        super.visitVarInsn(Opcodes.ALOAD, 1);
        call("ends", "(Ljava/lang/Object;)V");
      }
      if (locked) {
        super.visitVarInsn(Opcodes.ALOAD, 0);
        super.visitLdcInsn(shortName);
        call("entered", "(Ljava/lang/Object;Ljava/lang/String;)V");
        super.visitLabel(begin);
      }
    }

    private void leave() {
      super.visitVarInsn(Opcodes.ALOAD, 0);
      call("left", "(Ljava/lang/Object;)V");
    }

    @Override
    public void visitMaxs(int stack, int locals) {
      if (locked) {
        super.visitLabel(end);
        super.visitLabel(thrown);
        List<Object> frame = new ArrayList<>();
        frame.add(owner);
        for (Type t : Type.getArgumentTypes(descriptor)) {
          frame.add(
              switch (t.getSort()) {
                case Type.LONG -> Opcodes.LONG;
                case Type.DOUBLE -> Opcodes.DOUBLE;
                case Type.FLOAT -> Opcodes.FLOAT;
                case Type.OBJECT, Type.ARRAY -> t.getInternalName();
                default -> Opcodes.INTEGER;
              });
        }
        super.visitFrame(
            Opcodes.F_FULL, frame.size(), frame.toArray(), 1, new Object[] {"java/lang/Throwable"});
        leave();
        super.visitInsn(Opcodes.ATHROW);
        super.visitTryCatchBlock(begin, end, thrown, null); // the last inner class is the outermost
      }
      super.visitMaxs(stack, locals);
    }

    @Override
    public void visitInsn(int opcode) {
      if (opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN) {
        String holds = HOLDS.get(key);
        if (holds != null) {
          super.visitVarInsn(Opcodes.ALOAD, 0);
          super.visitLdcInsn(holds);
          call("holds", "(Ljava/lang/Object;Ljava/lang/String;)V");
        }
        if (locked) {
          leave();
        }
      }
      if (opcode == Opcodes.MONITORENTER) {
        super.visitInsn(Opcodes.DUP);
        super.visitInsn(opcode);
        super.visitLdcInsn(shortName);
        call("entered", "(Ljava/lang/Object;Ljava/lang/String;)V");
      } else if (opcode == Opcodes.MONITOREXIT) {
        super.visitInsn(Opcodes.DUP);
        call("left", "(Ljava/lang/Object;)V");
        super.visitInsn(opcode);
      } else {
        super.visitInsn(opcode);
      }
    }

    @Override
    public void visitTypeInsn(int opcode, String type) {
      super.visitTypeInsn(opcode, opcode == Opcodes.NEW ? MADE.getOrDefault(type, type) : type);
    }

    @Override
    public void visitMethodInsn(
        int opcode, String of, String called, String type, boolean isInterface) {
      String as = called.equals("<init>") ? MADE.getOrDefault(of, of) : of;
      super.visitMethodInsn(opcode, as, called, type, isInterface);
    }

    @Override
    public void visitFieldInsn(int opcode, String of, String field, String type) {
      boolean lock =
          opcode == Opcodes.PUTFIELD && type.startsWith("L") && MADE.containsKey(inner(type));
      if (lock) {
        super.visitInsn(Opcodes.DUP);
        super.visitLdcInsn(of.substring(of.lastIndexOf('/') + 1).replace('$', '.') + "." + field);
        call("name", "(Ljava/lang/Object;Ljava/lang/String;)V");
      }
      super.visitFieldInsn(opcode, of, field, type);
    }

    private static String inner(String type) {
      return type.substring(1, type.length() - 1);
    }
  }
}
