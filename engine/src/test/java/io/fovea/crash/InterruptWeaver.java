package io.fovea.crash;

import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.MethodVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.Opcodes;
import io.fovea.support.WeavingLoader;
import java.util.List;

/**
 * Loads the engine again, with a call of {@link InterruptProbe} before every call that may wait or
 * do I/O: channels, files, streams, locks and parks of the JDK, libc and rings. Test classes are
 * loaded here too, without woven calls.
 */
final class InterruptWeaver extends WeavingLoader {
  private static final String PROBE = "io/fovea/crash/InterruptProbe";

  private static final List<String> OWNERS =
      List.of(
          "java/io/",
          "java/nio/channels/",
          "java/nio/file/Files",
          "java/util/concurrent/locks/",
          "java/util/concurrent/Semaphore",
          "java/util/concurrent/CountDownLatch",
          "java/util/concurrent/CompletableFuture",
          "java/util/concurrent/ExecutorService",
          "java/util/concurrent/Future",
          "java/util/concurrent/BlockingQueue",
          "java/util/concurrent/ThreadPoolExecutor",
          "java/util/concurrent/TimeUnit",
          "io/fovea/bindings/FileCalls",
          "io/fovea/bindings/Ring");

  private static final List<String> OF_THREADS = List.of("sleep", "join", "wait");

  InterruptWeaver(ClassLoader parent) {
    super(parent, InterruptProbe.class);
  }

  @Override
  protected boolean weaves(String name) {
    return !name.startsWith("io.fovea.crash.");
  }

  @Override
  protected ClassVisitor woven(ClassVisitor next) {
    return new Woven(next);
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
      String where = owner.substring(owner.lastIndexOf('/') + 1) + "." + name;
      return new MethodVisitor(Opcodes.ASM9, next) {
        @Override
        public void visitMethodInsn(
            int opcode, String of, String called, String descriptor, boolean isInterface) {
          if (!called.equals("<init>") && blocks(of, called)) {
            super.visitLdcInsn(
                of.substring(of.lastIndexOf('/') + 1) + "." + called + " in " + where);
            super.visitMethodInsn(
                Opcodes.INVOKESTATIC, PROBE, "at", "(Ljava/lang/String;)V", false);
          }
          super.visitMethodInsn(opcode, of, called, descriptor, isInterface);
        }
      };
    }

    private static boolean blocks(String of, String called) {
      return OWNERS.stream().anyMatch(of::startsWith)
          || OF_THREADS.contains(called)
              && (of.equals("java/lang/Thread") || of.equals("java/lang/Object"));
    }
  }
}
