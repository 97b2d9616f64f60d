package io.fovea.explorer;

import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.MethodVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.Opcodes;
import io.fovea.support.WeavingLoader;
import java.util.Set;

/**
 * Loads the engine again, with a call of {@link Delays} at the entry of each method of its
 * concurrent packages and of the simulated disk. Windows of a few instructions then sometimes last
 * milliseconds. The explorer is loaded here too, and not woven.
 */
final class DelayWeaver extends WeavingLoader {
  private static final String PROBE = "io/fovea/explorer/Delays";

  private static final Set<String> PACKAGES =
      Set.of(
          "io.fovea.btree",
          "io.fovea.buffer",
          "io.fovea.catalog",
          "io.fovea.changes",
          "io.fovea.copies",
          "io.fovea.index",
          "io.fovea.inspection",
          "io.fovea.io",
          "io.fovea.recovery",
          "io.fovea.store",
          "io.fovea.support",
          "io.fovea.txn",
          "io.fovea.wal");

  DelayWeaver(ClassLoader parent) {
    super(parent, Delays.class);
  }

  @Override
  protected boolean weaves(String name) {
    return PACKAGES.contains(name.substring(0, name.lastIndexOf('.')));
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
      owner = name.substring(name.lastIndexOf('/') + 1);
      super.visit(version, access, name, signature, base, interfaces);
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String name, String descriptor, String signature, String[] exceptions) {
      MethodVisitor next = super.visitMethod(access, name, descriptor, signature, exceptions);
      if (name.startsWith("<")) {
        return next;
      }
      String where = owner + "." + name;
      return new MethodVisitor(Opcodes.ASM9, next) {
        @Override
        public void visitCode() {
          super.visitCode();
          super.visitLdcInsn(Delays.site(where));
          super.visitMethodInsn(Opcodes.INVOKESTATIC, PROBE, "at", "(I)V", false);
        }
      };
    }
  }
}
