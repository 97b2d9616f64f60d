package io.fovea.order;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassReader;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.FieldVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.MethodVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.Opcodes;
import io.fovea.Database;
import io.fovea.LoadOptions;
import io.fovea.Options;
import io.fovea.Table;
import io.fovea.config.Duplicates;
import io.fovea.config.Durability;
import io.fovea.memory.OperationLock;
import io.fovea.schema.TableSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** The table of the lock order is complete, and its check finds inversions. */
@Isolated("clears the inversions that were found")
class LockOrderTest {
  /** Tools, classes of constants, and classes used before a database is open. */
  private static final Set<String> NOT_OF_AN_OPEN_DATABASE =
      Set.of("Replay.lock", "DatabaseBean", "LeakRegistry", "AddressSpace", "Log.FilePin");

  @TempDir Path folder;

  /** Every lock and monitor of the engine is in the table. */
  @Test
  void theTableIsComplete() throws IOException {
    Set<String> found = new TreeSet<>();
    try (Stream<Path> files =
        Files.walk(
            Path.of(
                OperationLock.class
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation()
                    .getPath()))) {
      for (Path file : files.filter(f -> f.toString().endsWith(".class")).toList()) {
        if (file.toString().contains("/io/fovea/memory/")
            && file.toString().contains("OperationLock")) {
          continue;
        }
        new ClassReader(Files.readAllBytes(file)).accept(new Finder(found), 0);
      }
    }
    assertTrue(found.contains("SchemaChanges.lock") && found.contains("Store"), found.toString());
    found.removeAll(NOT_OF_AN_OPEN_DATABASE);
    List<String> missing = new ArrayList<>(found);
    missing.removeIf(n -> ranks().contains(n));
    assertEquals(List.of(), missing, "not in the table of docs/internals/concurrency.md");
  }

  private static Set<String> ranks() {
    if (LockOrder.ranks().isEmpty()) {
      LockOrder.read(Objects.requireNonNull(LockOrderAgent.page()));
    }
    return LockOrder.ranks().keySet();
  }

  private static final class Finder extends ClassVisitor {
    private final Set<String> found;
    private String name = "";

    Finder(Set<String> found) {
      super(Opcodes.ASM9);
      this.found = found;
    }

    @Override
    public void visit(
        int version, int access, String of, String signature, String base, String[] interfaces) {
      name = of.substring(of.lastIndexOf('/') + 1).replace('$', '.');
    }

    @Override
    public @Nullable FieldVisitor visitField(
        int access, String field, String type, String signature, Object value) {
      if (type.endsWith("/ReentrantLock;") || type.endsWith("OperationLock;")) {
        found.add(name + "." + field);
      }
      return null;
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String method, String type, String signature, String[] exceptions) {
      if ((access & Opcodes.ACC_SYNCHRONIZED) != 0) {
        found.add(name);
      }
      return new MethodVisitor(Opcodes.ASM9) {
        @Override
        public void visitInsn(int opcode) {
          if (opcode == Opcodes.MONITORENTER) {
            found.add(name);
          }
        }
      };
    }
  }

  /** A single thread reveals an inversion, without a waiter. */
  @Test
  void findsAnInversion() {
    ranks();
    LockOrder.forget();
    Object schema = new Object();
    LockOrder.waits("Checkpointer.awaitLogSpace");
    LockOrder.took(schema, "SchemaChanges.lock");
    LockOrder.check(schema, "SchemaChanges.lock", false); // reentrant
    LockOrder.waits("Log.awaitDurable");
    assertNull(LockOrder.poll());
    LockOrder.waits("Checkpointer.awaitLogSpace");
    LockOrder.left(schema);
    AssertionError found = LockOrder.poll();
    assertNotNull(found);
    assertTrue(String.valueOf(found.getMessage()).contains("Checkpointer.awaitLogSpace"));
    LockOrder.forget();
  }

  /**
   * Runs what takes the most locks: catalog changes, a load, and operations that need quiescence.
   */
  @Test
  void engineKeepsTheOrder() throws Exception {
    assumeTrue(LockOrderAgent.isWatching(), "the JVM does not allow self-attach");
    Options options =
        Options.defaults()
            .bufferBytes(16 << 20)
            .durability(Durability.ASYNC)
            .log(l -> l.changeRetentionBytes(1 << 20));
    long before = LockOrder.checks();
    try (Database db = Database.open(folder.resolve("d"), options)) {
      Table<byte[], byte[]> w = db.table(TableSpec.bytes("w", 20)).bytes();
      db.run(tx -> w.put(tx, new byte[1], new byte[800]));
      db.run(
          tx -> {
            tx.dropTable("d");
            Table<byte[], byte[]> n = tx.table(TableSpec.bytes("d", 20)).bytes();
            n.put(tx, new byte[1], new byte[100]);
          });
      w.load(
          LoadOptions.defaults().duplicates(Duplicates.REPLACE),
          into -> {
            for (int k = 0; k < 20_000; k++) {
              into.add(("k" + k).getBytes(), new byte[100]);
            }
          });
      assertTrue(db.verify().ok());
      try (Database then = db.snapshot()) {
        assertTrue(then.verify().ok());
      }
      db.backup(folder.resolve("copy"));
      db.dropTable("d");
    }
    assertTrue(LockOrder.checks() > before + 100);
    assertNull(LockOrder.poll());
  }
}
