package io.fovea.faults;

import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassReader;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassWriter;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.MethodVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.Opcodes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;

/**
 * Every place in the engine's code at which tests put a call of their own.
 *
 * <pre>
 *   a method that is entered, or returns            ENTRY, EXIT
 *   a call in a method, or a store of a field       BEFORE, AFTER, INSTEAD
 * </pre>
 *
 * <p>A point that is not found exactly as often as it says is an error: code that was renamed or
 * moved takes its points along.
 */
final class FaultPoints {
  private static final String ROOT = "io/fovea/";
  private static final String FAILPOINT = ROOT + "faults/Failpoint";

  private enum When {
    ENTRY,
    EXIT,
    BEFORE,
    AFTER
  }

  /**
   * A place, and the code that is put there.
   *
   * @param target the call, {@code Type.method}, or the field; empty at the entry and the exit
   */
  private record Point(
      String type, String method, When when, String target, Consumer<MethodVisitor> code) {}

  /** By the internal names of the classes. */
  private static final Map<String, List<Point>> POINTS = new TreeMap<>();

  /** The names of all failpoints. */
  private static final Set<String> FAILPOINTS = new TreeSet<>();

  static {
    failpoints();
  }

  private FaultPoints() {}

  private static void failpoints() {
    failpoint("log.write", "wal/LogWriter", "write", When.BEFORE, "SegmentFile.write");
    failpoint("log.written", "wal/LogWriter", "write", When.BEFORE, "SegmentFile.confirm");
    failpoint("log.synced", "wal/LogWriter", "finish", When.AFTER, "Log.becameDurable");
    failpoint("commit.appended", "txn/Commit", "run", When.AFTER, "CommitAppender.append");
    failpoint("commit.installed", "txn/Commit", "run", When.BEFORE, "CountDeltas.apply");
    failpoint("schema.appended", "catalog/CatalogChange", "change", When.BEFORE, "List.forEach");
    failpoint("dwb.synced", "buffer/WriteBack", "attempt", When.AFTER, "WriteBack.protect");
    failpoint("pages.written", "buffer/WriteBack", "attempt", When.AFTER, "BlockDevice.run");
    failpointIf("checkpoint.cut", "recovery/Checkpointer", "make", "FileEnd.cut");
    failpoint(
        "checkpoint.before-superblock",
        "recovery/Checkpointer",
        "make",
        When.AFTER,
        "Checkpointer.sync");
    failpoint(
        "checkpoint.superblock",
        "recovery/Checkpointer",
        "make",
        When.AFTER,
        "SuperblockFile.sync");
    failpointIf("checkpoint.shrunk", "recovery/Checkpointer", "make", "FileEnd.shrink");
    failpoint("recovery.restored", "store/Journal", "prepare", When.AFTER, "DoubleWrite.restore");
    failpoint("recovery.images", "recovery/Recovery", "analyze", When.EXIT, "");
    failpoint("recovery.replayed", "recovery/Recovery", "replay", When.EXIT, "");
    failpoint("recovery.finished", "recovery/Recovery", "finish", When.EXIT, "");
    failpoint("close.before-clean", "store/Journal", "finish", When.AFTER, "BufferPool.flushAll");
    failpoint("close.trimmed", "store/Journal", "trimLog", When.AFTER, "BlockDevice.resize");
  }

  private static void failpoint(String name, String type, String method, When when, String target) {
    named(name);
    at(
        type,
        method,
        when,
        target,
        m -> {
          m.visitLdcInsn(name);
          call(m, FAILPOINT, "here", "(Ljava/lang/String;)V");
        });
  }

  /** One that is passed where a call has done something, as it says. */
  private static void failpointIf(String name, String type, String method, String target) {
    named(name);
    at(
        type,
        method,
        When.AFTER,
        target,
        m -> {
          m.visitLdcInsn(name);
          call(m, FAILPOINT, "here", "(ZLjava/lang/String;)Z");
        });
  }

  private static void named(String name) {
    if (!FAILPOINTS.add(name)) {
      throw new IllegalStateException(name + " names two points");
    }
  }

  private static void at(
      String type, String method, When when, String target, Consumer<MethodVisitor> code) {
    POINTS
        .computeIfAbsent(ROOT + type, t -> new ArrayList<>())
        .add(new Point(type, method, when, target, code));
  }

  private static void call(MethodVisitor m, String type, String method, String descriptor) {
    m.visitMethodInsn(Opcodes.INVOKESTATIC, type, method, descriptor, false);
  }

  // -------------------------------------------------------------------------------------- weaving

  /** The names of all failpoints, in order. */
  static Set<String> failpointNames() {
    return FAILPOINTS;
  }

  /** The internal names of the classes that are woven. */
  static Set<String> types() {
    return POINTS.keySet();
  }

  /**
   * Puts in what belongs into a class.
   *
   * @throws IllegalStateException if it has a point not at all, or more than once
   */
  static byte[] weave(String type, byte[] bytes) {
    ClassReader reader = new ClassReader(bytes);
    ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
    Woven woven = new Woven(writer, POINTS.getOrDefault(type, List.of()));
    reader.accept(woven, 0);
    woven.requireAll();
    return writer.toByteArray();
  }

  private static final class Woven extends ClassVisitor {
    private final List<Point> points;
    private final int[] found;

    Woven(ClassVisitor next, List<Point> points) {
      super(Opcodes.ASM9, next);
      this.points = points;
      this.found = new int[points.size()];
    }

    void requireAll() {
      for (int i = 0; i < found.length; i++) {
        Point p = points.get(i);
        if (found[i] == 0 || found[i] > 1 && p.when != When.EXIT) {
          throw new IllegalStateException(found[i] + " times in the code: " + p);
        }
      }
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String name, String descriptor, String signature, String[] exceptions) {
      MethodVisitor next = super.visitMethod(access, name, descriptor, signature, exceptions);
      return points.stream().anyMatch(p -> p.method.equals(name)) ? new Method(next, name) : next;
    }

    private final class Method extends MethodVisitor {
      private final String name;

      Method(MethodVisitor next, String name) {
        super(Opcodes.ASM9, next);
        this.name = name;
      }

      private void put(When when, String target) {
        for (int i = 0; i < found.length; i++) {
          Point p = points.get(i);
          if (p.when == when && p.method.equals(name) && p.target.equals(target)) {
            found[i]++;
            p.code.accept(mv);
          }
        }
      }

      @Override
      public void visitCode() {
        super.visitCode();
        put(When.ENTRY, "");
      }

      @Override
      public void visitInsn(int opcode) {
        if (opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN) {
          put(When.EXIT, "");
        }
        super.visitInsn(opcode);
      }

      @Override
      public void visitMethodInsn(
          int opcode, String owner, String called, String descriptor, boolean isInterface) {
        String target = owner.substring(owner.lastIndexOf('/') + 1) + "." + called;
        put(When.BEFORE, target);
        super.visitMethodInsn(opcode, owner, called, descriptor, isInterface);
        put(When.AFTER, target);
      }
    }
  }
}
