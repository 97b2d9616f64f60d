package io.fovea.faults;

import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassReader;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassWriter;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.Label;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.MethodVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.Opcodes;
import io.fovea.txn.FaultInjection.Stage;
import io.fovea.txn.FaultInjection.Step;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;

/**
 * All points of the engine's code into which tests weave a call.
 *
 * <pre>
 *   a method is entered, or returns          ENTRY, EXIT
 *   a call in a method                       BEFORE, AFTER, INSTEAD
 *   a store of a field, or a load            BEFORE, AFTER
 * </pre>
 *
 * <p>A point that is not found exactly as often as specified is an error, so renamed or moved code
 * must take its points along.
 */
final class FaultPoints {
  private static final String ROOT = "io/fovea/";
  private static final String FAILPOINT = ROOT + "faults/Failpoint";

  private enum When {
    ENTRY,
    EXIT,
    BEFORE,
    AFTER,
    /** Replaces a call by a static method of {@code FaultInjection}, with the object first. */
    INSTEAD
  }

  /**
   * A point, and the code that is woven there.
   *
   * @param method its name, with its descriptor if it is overloaded
   * @param target the call, {@code Type.method}, or the field; empty for {@code ENTRY} and {@code
   *     EXIT}
   */
  private record Point(
      String type, String method, When when, String target, Consumer<MethodVisitor> code) {
    boolean isIn(String name, String descriptor) {
      return method.equals(name) || method.equals(name + descriptor);
    }
  }

  /** Points by internal class name. */
  private static final Map<String, List<Point>> POINTS = new TreeMap<>();

  private static final Set<String> FAILPOINTS = new TreeSet<>();

  private static final String FAULTS = ROOT + "txn/FaultInjection";

  /** The class that {@link #trace} weaves. */
  static final String TRACED = ROOT + "buffer/FrameHeader";

  private static final String USE = ROOT + "index/HintUse";
  private static final String POISON = ROOT + "index/HintPoison";
  private static final String POISON_TYPE = "L" + POISON + ";";
  private static final String POSITION = "L" + ROOT + "btree/Position;";
  private static final String CONTROL = ROOT + "txn/ConcurrencyControl";
  private static final String FAULTS_TYPE = "L" + FAULTS + ";";

  /**
   * Classes that get a field with the {@link FaultInjection} in force at their construction, on the
   * thread that opens a database.
   */
  private static final Set<String> HOLDERS =
      Set.of(
          ROOT + "buffer/ChildHints",
          ROOT + "recovery/LogGate",
          ROOT + "txn/CommitGate",
          ROOT + "txn/ConcurrencyControl",
          ROOT + "txn/Tx",
          ROOT + "wal/InFlightGroups");

  static {
    failpoints();
    POINTS.put(USE, new ArrayList<>()); // only gets a field
    hints();
    steps();
    stages();
    at(
        "txn/Tx",
        "start",
        When.AFTER,
        "LeafReads.begin",
        m -> {
          m.visitVarInsn(Opcodes.ALOAD, 0);
          faults(m, "txn/Tx");
          call(m, FAULTS, "started", "(L" + ROOT + "txn/Tx;" + FAULTS_TYPE + ")V");
        });
  }

  private FaultPoints() {}

  private static void failpoints() {
    failpoint("log.write", "wal/LogWriter", "write", When.BEFORE, "SegmentFile.write");
    failpoint("log.written", "wal/LogWriter", "write", When.BEFORE, "SegmentFile.confirm");
    failpoint("log.synced", "wal/LogWriter", "finish", When.AFTER, "Log.becameDurable");
    failpoint("commit.appended", "txn/Commit", "run", When.AFTER, "CommitAppender.append");
    failpoint("commit.installed", "txn/Commit", "run", When.BEFORE, "CountDeltas.apply");
    failpoint(
        "schema.appended", "catalog/CatalogChange", "change", When.BEFORE, "CatalogChange.install");
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

  /** Corrupts hints as they are read and stored: those of entries, and those of inner pages. */
  private static void hints() {
    at(
        "index/IndexHints",
        "get",
        When.BEFORE,
        "Tx.getHinted",
        m -> {
          poison(m);
          call(m, POISON, "read", "(" + POSITION + POISON_TYPE + ")" + POSITION);
        });
    at(
        "index/IndexHints",
        "put",
        When.ENTRY,
        "",
        m -> {
          m.visitVarInsn(Opcodes.ALOAD, 4);
          poison(m);
          call(m, POISON, "store", "(" + POSITION + POISON_TYPE + ")V");
        });
    wrongFrames("find", "ChildHints.repair");
    wrongFrames("reference", "PageRef.of");
  }

  /** Pushes the hint poison in force. */
  private static void poison(MethodVisitor m) {
    m.visitVarInsn(Opcodes.ALOAD, 0);
    m.visitFieldInsn(Opcodes.GETFIELD, ROOT + "index/IndexHints", "use", "L" + USE + ";");
    m.visitFieldInsn(Opcodes.GETFIELD, USE, "poison", POISON_TYPE);
  }

  private static void wrongFrames(String method, String target) {
    String type = ROOT + "buffer/ChildHints";
    String frames = "L" + ROOT + "buffer/Frames;";
    at(
        "buffer/ChildHints",
        method,
        When.BEFORE,
        target,
        m -> {
          faults(m, "buffer/ChildHints");
          m.visitVarInsn(Opcodes.ALOAD, 0);
          m.visitFieldInsn(Opcodes.GETFIELD, type, "frames", frames);
          m.visitVarInsn(Opcodes.ALOAD, 0);
          m.visitFieldInsn(Opcodes.GETFIELD, type, "limit", "I");
          call(m, ROOT + "buffer/WrongFrames", "hint", "(I" + FAULTS_TYPE + frames + "I)I");
        });
  }

  /** Records page accesses, only if a trace is requested. */
  static void trace() {
    String trace = ROOT + "buffer/PageTrace";
    at(
        "buffer/FrameHeader",
        "use",
        When.EXIT,
        "",
        m -> {
          m.visitVarInsn(Opcodes.LLOAD, 2);
          call(m, trace, "used", "(ZJ)Z");
        });
    at(
        "buffer/FrameHeader",
        "touch",
        When.EXIT,
        "",
        m -> {
          m.visitVarInsn(Opcodes.ALOAD, 0);
          m.visitVarInsn(Opcodes.ILOAD, 1);
          call(m, trace, "touched", "(Ljava/lang/foreign/MemorySegment;I)V");
        });
  }

  /** Omits steps: whole methods, results of calls, arguments. */
  private static void steps() {
    omit(Step.VALIDATION, "txn/ConcurrencyControl", "validate", returns(true));
    omit(Step.VALIDATION, "txn/CommitLocks", "isStale", returns(false));
    omit(Step.NEXT_KEY, "txn/ScanBatches", "readBound", returns(true));
    omit(Step.NEXT_KEY, "txn/ScanBatches", "withBeyond", FaultPoints::returnsFirst);
    omit(Step.SUCCESSOR_RECHECK, "txn/CommitLocks", "isStillSuccessor", returns(true));
    answer(Step.GAP_LEAF, true, "txn/CommitLocks", "isStillSuccessor", "BufferPool.validate");
    omit(Step.GAP_END, "txn/CommitLocks", "isBelowGapEnd", returns(true));
    at(
        "txn/CommitLocks",
        "pinWrites",
        When.BEFORE,
        "ConcurrencyControl.pinToLock",
        m -> {
          faults(m, "txn/CommitLocks");
          call(m, FAULTS, "itemToPin", "(J" + FAULTS_TYPE + ")J");
        });
    answer(Step.FOREIGN_LOCKS, false, "txn/ScanBatches", "readWord", "TidWord.isLocked");
    answer(Step.FOREIGN_LOCKS, false, "txn/TxReads", "readAt", "TidWord.isLocked");
    answer(Step.FOREIGN_LOCKS, true, "txn/SingleReadFastPath", "read", "Timestamps.unlocked");
    answer(Step.FOREIGN_LOCKS, false, "txn/SingleReadFastPath", "addRead", "TidWord.isLocked");
    omit(Step.QUIESCENT_POINT, "txn/ConcurrencyControl", "spansSnapshot", returns(false));
    omit(Step.QUIESCENT_POINT, "txn/ConcurrencyControl", "treesSwapped", returns(false));
    for (String method : List.of("readBound", "enter")) {
      at(
          "txn/ScanBatches",
          method,
          When.BEFORE,
          "upperItem",
          m -> {
            faults(m, "txn/ScanBatches");
            call(m, FAULTS, "upperItem", "(J" + FAULTS_TYPE + ")J");
          });
    }
    at(
        "RowIndex",
        "getVouched",
        When.AFTER,
        "Mem.equal",
        m -> {
          m.visitVarInsn(Opcodes.ALOAD, 2);
          m.visitFieldInsn(Opcodes.GETFIELD, ROOT + "txn/Tx", "faults", FAULTS_TYPE);
          filter(m, Step.RECORD_KEY, true);
        });
    at("RowIndex", "get", When.INSTEAD, "Tx.get", m -> {});
    omit(Step.SCAN_TIMESTAMP, "txn/ConcurrencyControl", "mark", FaultPoints::returnsMinusOne);
    omit(Step.COMMITS_IN_GATE, "txn/CommitGate", "awaitOthers", returns(true));
    answer(Step.LEAF_VERSIONS, true, "txn/LeafReads", "hold", "LeafVersions.unchanged");
    omit(Step.SINGLE_READ_ENTRY, "txn/SingleReadFastPath", "addRead", FaultPoints::returnsNothing);
    omit(Step.WORDS_BEFORE_COPIES, "txn/ScanBatches", "wasKnown", returns(true));
    omit(Step.LOG_BEFORE_PAGE, "recovery/LogGate", "durableLsn", FaultPoints::returnsMax);
    omit(Step.LOG_BEFORE_PAGE, "recovery/LogGate", "lsnLimit", FaultPoints::returnsMax);
    omit(Step.LOG_BEFORE_PAGE, "recovery/LogGate", "awaitDurable", FaultPoints::returnsNothing);
    answer(Step.GROUPS_IN_ORDER, true, "wal/InFlightGroups", "takeDurable", "durable");
  }

  /** Reports the stages of transactions. */
  private static void stages() {
    stage(Stage.KEYS_COPIED, "txn/ScanBatches", "readItems", When.ENTRY, "");
    stage(Stage.UNRESERVED, "txn/ConcurrencyControl", "lock", When.BEFORE, "SlotSet.stage");
    stage(
        Stage.UNRESERVED,
        "txn/TwoPhaseLocking",
        "exclude(JLio/fovea/error/AbortCause;)Z",
        When.BEFORE,
        "SlotSet.stage");
    stage(
        Stage.SUCCESSOR_FOUND,
        "txn/CommitLocks",
        "lockSuccessor",
        When.BEFORE,
        "CommitLocks.isNextWrite");
    stage(Stage.VALIDATED, "txn/Commit", "run", When.AFTER, "CommitGate.decided");
    stage(
        Stage.INSTALLING,
        "txn/CommitInstaller",
        "installWithRetries",
        When.BEFORE,
        "CommitInstaller.installRun");
    stage(
        Stage.INSTALLING,
        "txn/CommitInstaller",
        "installWithRetries",
        When.BEFORE,
        "CommitInstaller.install");
    stage(Stage.INSTALLED, "txn/Commit", "run", When.BEFORE, "CountDeltas.apply");
  }

  /** Makes a method return immediately. */
  private static void omit(Step step, String type, String method, Consumer<MethodVisitor> returns) {
    at(
        type,
        method,
        When.ENTRY,
        "",
        m -> {
          Label goOn = new Label();
          faults(m, type);
          constant(m, step);
          call(m, FAULTS, "omits", "(" + FAULTS_TYPE + typeOf(step) + ")Z");
          m.visitJumpInsn(Opcodes.IFEQ, goOn);
          returns.accept(m);
          m.visitLabel(goOn);
          m.visitFrame(Opcodes.F_SAME, 0, null, 0, null);
          m.visitInsn(
              Opcodes.NOP); // the method's own stack map frame may be at its first instruction
        });
  }

  /** Makes a call, or a read of a field, return the value that reports success. */
  private static void answer(Step step, boolean well, String type, String method, String target) {
    at(
        type,
        method,
        When.AFTER,
        target,
        m -> {
          faults(m, type);
          filter(m, step, well);
        });
  }

  private static void filter(MethodVisitor m, Step step, boolean well) {
    constant(m, step);
    call(m, FAULTS, well ? "orOmitted" : "unlessOmitted", "(Z" + FAULTS_TYPE + typeOf(step) + ")Z");
  }

  private static void stage(Stage stage, String type, String method, When when, String target) {
    at(
        type,
        method,
        when,
        target,
        m -> {
          faults(m, type);
          constant(m, stage);
          m.visitVarInsn(Opcodes.ALOAD, 0);
          if (!type.equals("txn/ConcurrencyControl")) {
            m.visitFieldInsn(
                Opcodes.GETFIELD, ROOT + type, "concurrencyControl", "L" + CONTROL + ";");
          }
          m.visitFieldInsn(Opcodes.GETFIELD, CONTROL, "locked", "L" + ROOT + "txn/SlotSet;");
          call(m, FAULTS, "at", "(" + FAULTS_TYPE + typeOf(stage) + "L" + ROOT + "txn/SlotSet;)V");
        });
  }

  /** Pushes the faults of the object, or of one that it holds. */
  private static void faults(MethodVisitor m, String type) {
    String holder = ROOT + type;
    m.visitVarInsn(Opcodes.ALOAD, 0);
    if (!HOLDERS.contains(holder)) {
      boolean gate = type.equals("txn/LeafReads");
      holder = gate ? ROOT + "txn/CommitGate" : CONTROL;
      m.visitFieldInsn(
          Opcodes.GETFIELD, ROOT + type, gate ? "gate" : "concurrencyControl", "L" + holder + ";");
    }
    m.visitFieldInsn(Opcodes.GETFIELD, holder, "faults", FAULTS_TYPE);
  }

  private static void constant(MethodVisitor m, Enum<?> value) {
    String type = typeOf(value);
    m.visitFieldInsn(Opcodes.GETSTATIC, type.substring(1, type.length() - 1), value.name(), type);
  }

  private static String typeOf(Enum<?> value) {
    return value.getDeclaringClass().descriptorString();
  }

  private static Consumer<MethodVisitor> returns(boolean answer) {
    return m -> {
      m.visitInsn(answer ? Opcodes.ICONST_1 : Opcodes.ICONST_0);
      m.visitInsn(Opcodes.IRETURN);
    };
  }

  private static void returnsFirst(MethodVisitor m) {
    m.visitVarInsn(Opcodes.ILOAD, 1);
    m.visitInsn(Opcodes.IRETURN);
  }

  private static void returnsMinusOne(MethodVisitor m) {
    m.visitLdcInsn(-1L);
    m.visitInsn(Opcodes.LRETURN);
  }

  private static void returnsMax(MethodVisitor m) {
    m.visitLdcInsn(Long.MAX_VALUE);
    m.visitInsn(Opcodes.LRETURN);
  }

  private static void returnsNothing(MethodVisitor m) {
    m.visitInsn(Opcodes.RETURN);
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

  /** Adds a failpoint that counts if a call returned true. */
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

  /** Returns the names of all failpoints, in order. */
  static Set<String> failpointNames() {
    return FAILPOINTS;
  }

  /** Returns the internal names of the woven classes. */
  static Set<String> types() {
    return Set.copyOf(POINTS.keySet());
  }

  /** Returns those that hints need. */
  static Set<String> hintTypes() {
    return Set.of(ROOT + "buffer/ChildHints", ROOT + "index/IndexHints", USE);
  }

  /**
   * Weaves the points of a class.
   *
   * @throws IllegalStateException if a point is not found exactly as often as specified
   */
  static byte[] weave(String type, byte[] bytes) {
    ClassReader reader = new ClassReader(bytes);
    ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
    Woven woven = new Woven(writer, type, POINTS.getOrDefault(type, List.of()));
    reader.accept(woven, 0);
    woven.requireAll();
    return writer.toByteArray();
  }

  private static final class Woven extends ClassVisitor {
    private final String type;
    private final boolean holds;
    private final List<Point> points;
    private final int[] found;

    Woven(ClassVisitor next, String type, List<Point> points) {
      super(Opcodes.ASM9, next);
      this.type = type;
      this.holds = HOLDERS.contains(type);
      this.points = points;
      this.found = new int[points.size()];
    }

    void requireAll() {
      for (int i = 0; i < found.length; i++) {
        Point p = points.get(i);
        if (found[i] == 0 || found[i] > 1 && p.when != When.EXIT) {
          throw new IllegalStateException(found[i] + " occurrences in the code: " + p);
        }
      }
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String name, String descriptor, String signature, String[] exceptions) {
      MethodVisitor next = super.visitMethod(access, name, descriptor, signature, exceptions);
      return holds && name.equals("<init>")
              || points.stream().anyMatch(p -> p.isIn(name, descriptor))
          ? new Method(next, name, descriptor)
          : next;
    }

    @Override
    public void visitEnd() {
      if (holds) {
        super.visitField(Opcodes.ACC_PUBLIC, "faults", FAULTS_TYPE, null, null);
      }
      if (type.equals(USE)) {
        super.visitField(
            Opcodes.ACC_PUBLIC | Opcodes.ACC_VOLATILE, "poison", POISON_TYPE, null, null);
      }
      super.visitEnd();
    }

    private final class Method extends MethodVisitor {
      private final String name;
      private final String descriptor;

      Method(MethodVisitor next, String name, String descriptor) {
        super(Opcodes.ASM9, next);
        this.name = name;
        this.descriptor = descriptor;
      }

      private boolean put(When when, String target) {
        boolean any = false;
        for (int i = 0; i < found.length; i++) {
          Point p = points.get(i);
          if (p.when == when && p.isIn(name, descriptor) && p.target.equals(target)) {
            found[i]++;
            p.code.accept(mv);
            any = true;
          }
        }
        return any;
      }

      @Override
      public void visitCode() {
        super.visitCode();
        if (holds && name.equals("<init>")) {
          // The added field may be written before the superclass constructor is called.
          super.visitVarInsn(Opcodes.ALOAD, 0);
          call(mv, FAULTS, "opening", "()" + FAULTS_TYPE);
          super.visitFieldInsn(Opcodes.PUTFIELD, type, "faults", FAULTS_TYPE);
        }
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
        if (put(When.INSTEAD, target)) {
          call(mv, FAULTS, called, "(L" + owner + ";" + descriptor.substring(1));
        } else {
          super.visitMethodInsn(opcode, owner, called, descriptor, isInterface);
        }
        put(When.AFTER, target);
      }

      @Override
      public void visitFieldInsn(int opcode, String owner, String field, String descriptor) {
        if (opcode == Opcodes.PUTFIELD) {
          put(When.BEFORE, field);
        }
        super.visitFieldInsn(opcode, owner, field, descriptor);
        if (opcode == Opcodes.GETFIELD) {
          put(When.AFTER, field);
        }
      }
    }
  }
}
