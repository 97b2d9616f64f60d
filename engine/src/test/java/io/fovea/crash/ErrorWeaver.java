package io.fovea.crash;

import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.Handle;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.Label;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.MethodVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.Opcodes;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.Type;
import io.fovea.support.WeavingLoader;
import java.util.Map;
import java.util.Set;

/**
 * Loads the engine again, with a call of {@link ErrorProbe} before every call and allocation in the
 * packages whose methods latch pages and lock items. Tests of these packages are loaded here too.
 */
final class ErrorWeaver extends WeavingLoader {
  private static final String PROBE = "io/fovea/crash/ErrorProbe";

  private static final Set<String> ROOMS =
      Set.of(
          "io.fovea.btree", "io.fovea.buffer", "io.fovea.catalog", "io.fovea.txn", "io.fovea.wal");

  /** Those packages, and the packages around them. */
  static final Set<String> ALL_ROOMS =
      Set.of(
          "io.fovea",
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
          "io.fovea.txn",
          "io.fovea.wal");

  /** Methods that release, or report a stop: neither they nor calls of them fail. */
  static final Set<String> GIVES =
      Set.of(
          "releaseExclusive",
          "releaseExclusiveUnchanged",
          "releaseShared",
          "releaseMoved",
          "downgrade",
          "end", // of a log session
          "endActive",
          "ended", // of a read: on a thread of the device, with its own stack
          "leaveGate",
          "groupBecameDurable",
          "unlatch", // of a walk of the free list
          "unlock",
          "unlockBoth",
          "unreserve",
          "unshare",
          "unqueue", // of a waiter for a context
          "moveEnds",
          "resume",
          "brokenOff",
          "stopAndRelease",
          "stop");

  /**
   * Methods to which the caller passes a latch, all resources of a transaction, or unpublished
   * trees. If the call failed the caller could not know the owner, so calls of them do not fail.
   * Calls within them do.
   */
  private static final Set<String> TAKES_OVER =
      Set.of(
          "free",
          "push",
          "releaseAll", // of an opening that failed
          "releaseBorrowed",
          "releaseObjects",
          "releaseResources",
          "freeSpare",
          "returnUnused",
          "returnGrant",
          "returnSpace",
          "unclaim",
          "putBack",
          "endAll",
          "drop",
          "dropAll");

  /** Classes and methods that try to acquire, and return whether they did. */
  private static final Map<String, Set<String>> TRIES =
      Map.of(
          "io/fovea/buffer/Latch", Set.of("tryUpgrade", "tryShared"),
          "io/fovea/txn/Timestamps", Set.of("tryLock"),
          "io/fovea/txn/TimestampTable", Set.of("tryLock"),
          "io/fovea/txn/LockTable", Set.of("tryShare", "tryExclude"),
          "io/fovea/txn/History", Set.of("tryLock"));

  /**
   * Classes and methods that always acquire. An active log session counts: it holds back the redo
   * point.
   */
  private static final Map<String, Set<String>> TAKES =
      Map.of(
          "io/fovea/txn/Versions", Set.of("lock"),
          "io/fovea/buffer/Translator", Set.of("lock"),
          "io/fovea/wal/LogSession", Set.of("begin"));

  /** Classes and methods that release. */
  private static final Map<String, Set<String>> RETURNS =
      Map.of(
          "io/fovea/buffer/Latch",
          Set.of("releaseExclusive", "releaseExclusiveUnchanged", "releaseShared", "releaseMoved"),
          "io/fovea/txn/Timestamps",
          Set.of("unlock", "publish"),
          "io/fovea/txn/TimestampTable",
          Set.of("unlock"),
          "io/fovea/txn/LockTable",
          Set.of("unshare", "release"),
          "io/fovea/txn/History",
          Set.of("unlock"),
          "io/fovea/txn/Versions",
          Set.of("unlock"),
          "io/fovea/buffer/Translator",
          Set.of("unlock"),
          "io/fovea/wal/LogSession",
          Set.of("endActive"));

  private final Set<String> rooms;

  ErrorWeaver(ClassLoader parent) {
    this(parent, ROOMS);
  }

  ErrorWeaver(ClassLoader parent, Set<String> rooms) {
    super(parent, ErrorProbe.class);
    this.rooms = rooms;
  }

  @Override
  protected boolean weaves(String name) {
    return rooms.contains(name.substring(0, name.lastIndexOf('.')));
  }

  @Override
  protected ClassVisitor woven(ClassVisitor next) {
    return new Woven(next);
  }

  private static final class Woven extends ClassVisitor {
    private String owner = "";

    /** Static initializers never fail: an error would make the class unusable. */
    private boolean constants;

    Woven(ClassVisitor next) {
      super(Opcodes.ASM9, next);
    }

    @Override
    public void visit(
        int version, int access, String name, String signature, String base, String[] interfaces) {
      owner = name;
      constants = base.equals("java/lang/Enum");
      super.visit(version, access, name, signature, base, interfaces);
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String name, String descriptor, String signature, String[] exceptions) {
      MethodVisitor next = super.visitMethod(access, name, descriptor, signature, exceptions);
      return constants || name.equals("<clinit>")
          ? next
          : new Method(next, owner, name, descriptor);
    }
  }

  private static final class Method extends MethodVisitor {
    private final String owner;
    private final String name;
    private final boolean fails;
    private final int tries; // 1: tries to acquire; 2: acquires; -1, -2: releases this many
    private int line;

    Method(MethodVisitor next, String owner, String name, String descriptor) {
      super(Opcodes.ASM9, next);
      this.owner = owner;
      this.name = name;
      this.fails = !GIVES.contains(name);
      boolean answers = Type.getReturnType(descriptor) == Type.BOOLEAN_TYPE;
      this.tries =
          TRIES.getOrDefault(owner, Set.of()).contains(name) && answers
              ? 1
              : TAKES.getOrDefault(owner, Set.of()).contains(name)
                  ? 2
                  : RETURNS.getOrDefault(owner, Set.of()).contains(name)
                      ? name.equals("releaseMoved") ? -2 : -1
                      : 0;
    }

    @Override
    public void visitCode() {
      super.visitCode();
      if (!fails) {
        super.visitInsn(Opcodes.ICONST_1);
        super.visitMethodInsn(Opcodes.INVOKESTATIC, PROBE, "giving", "(I)V", false);
      }
    }

    @Override
    public void visitLineNumber(int number, Label start) {
      line = number;
      super.visitLineNumber(number, start);
    }

    /**
     * A fence is one instruction and allocates nothing. If it is not inlined, it needs less stack
     * than the exchange before it, which has just taken a latch.
     */
    private static boolean isFence(String of, String called) {
      return of.equals("java/lang/invoke/VarHandle") && called.endsWith("Fence");
    }

    private void place(String what, boolean allocation) {
      String where = owner.substring(owner.lastIndexOf('/') + 1) + "." + name + ":" + line;
      super.visitLdcInsn(ErrorProbe.place(what + " in " + where));
      super.visitInsn(allocation ? Opcodes.ICONST_1 : Opcodes.ICONST_0);
      super.visitMethodInsn(Opcodes.INVOKESTATIC, PROBE, "at", "(IZ)V", false);
    }

    @Override
    public void visitMethodInsn(
        int opcode, String of, String called, String descriptor, boolean isInterface) {
      boolean begins =
          called.equals("<init>"); // its allocation is a call site already, or it is super
      if (fails
          && !begins
          && !GIVES.contains(called)
          && !TAKES_OVER.contains(called)
          && !isFence(of, called)) {
        place(of.substring(of.lastIndexOf('/') + 1) + "." + called, false);
      }
      super.visitMethodInsn(opcode, of, called, descriptor, isInterface);
    }

    @Override
    public void visitInvokeDynamicInsn(
        String called, String descriptor, Handle bootstrap, Object... arguments) {
      if (fails) {
        place(called, true);
      }
      super.visitInvokeDynamicInsn(called, descriptor, bootstrap, arguments);
    }

    @Override
    public void visitTypeInsn(int opcode, String type) {
      // After it: verifier frames identify a new object by its allocation's offset.
      super.visitTypeInsn(opcode, type);
      if (fails && (opcode == Opcodes.NEW || opcode == Opcodes.ANEWARRAY)) {
        place("new " + type.substring(type.lastIndexOf('/') + 1), true);
      }
    }

    @Override
    public void visitIntInsn(int opcode, int operand) {
      if (fails && opcode == Opcodes.NEWARRAY) {
        place("new array", true);
      }
      super.visitIntInsn(opcode, operand);
    }

    @Override
    public void visitInsn(int opcode) {
      if (!fails && opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN) {
        super.visitInsn(Opcodes.ICONST_M1);
        super.visitMethodInsn(Opcodes.INVOKESTATIC, PROBE, "giving", "(I)V", false);
      }
      if (tries == 1 && opcode == Opcodes.IRETURN) {
        super.visitInsn(Opcodes.DUP);
        super.visitMethodInsn(Opcodes.INVOKESTATIC, PROBE, "took", "(Z)V", false);
      } else if (tries == 2 && opcode == Opcodes.RETURN) {
        super.visitInsn(Opcodes.ICONST_1);
        super.visitMethodInsn(Opcodes.INVOKESTATIC, PROBE, "took", "(Z)V", false);
      } else if (tries < 0 && opcode == Opcodes.RETURN) {
        for (int i = tries; i < 0; i++) {
          super.visitMethodInsn(Opcodes.INVOKESTATIC, PROBE, "gave", "()V", false);
        }
      }
      super.visitInsn(opcode);
    }
  }
}
