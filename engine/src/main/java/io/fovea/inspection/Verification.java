package io.fovea.inspection;

import io.fovea.btree.BTree;
import io.fovea.btree.Position;
import io.fovea.btree.TreeCounts;
import io.fovea.btree.TreeVerifier;
import io.fovea.btree.TreeWalk;
import io.fovea.catalog.DeferredDrops;
import io.fovea.catalog.Schema;
import io.fovea.encoding.KeyText;
import io.fovea.error.FoveaException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.index.IndexCore;
import io.fovea.index.IndexMaintenance;
import io.fovea.index.LegacyRowReader;
import io.fovea.index.StatementContext;
import io.fovea.index.TableCore;
import io.fovea.memory.Mem;
import io.fovea.recovery.PageAudit;
import io.fovea.store.Store;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Verifies a quiescent database: its pages by {@link PageAudit}, the sizes of its records, its
 * indexes against their tables, and its counts against the actual numbers.
 */
public final class Verification {
  private final Store store;
  private final PageAudit census;
  private long records;

  private Verification(Store store) {
    this.store = store;
    this.census = new PageAudit(store.pool());
  }

  /**
   * The result of a verification.
   *
   * @param pages the number of pages of the file
   * @param freePages the number of free pages
   * @param trees the number of trees
   * @param records the number of records of all tables
   * @param problems the problems found, as text
   */
  public record Result(
      long pages, long freePages, int trees, long records, List<String> problems) {}

  /** Checks everything. Waits until no transaction is active, and admits none until the end. */
  public static Result run(Store store, Schema schema) {
    Result[] result = new Result[1];
    schema.whileQuiescent("verify " + store.name(), () -> result[0] = atRest(store, schema));
    return result[0];
  }

  private static Result atRest(Store store, Schema schema) {
    Verification v = new Verification(store);
    v.census.tree("catalog", store.catalog());
    for (TableCore t : schema.tables()) {
      v.table(t);
    }
    // In a snapshot, the pages of a dropped tree may already be free or in the process of being
    // freed.
    if (!store.isSnapshot()) {
      // Drops in the catalog, and drops without a record there because their trees were never in
      // use.
      DeferredDrops.Visitor deferred =
          (id, root, from, to) -> v.census.deferred("a dropped tree", id, root);
      DeferredDrops.forEach(store.catalog(), deferred);
      schema.forEachDropped(deferred);
      v.census.finish();
    }
    return new Result(
        store.pool().allocatorState().highWater(),
        v.census.freePages(),
        v.census.trees(),
        v.records,
        v.census.problems());
  }

  private void table(TableCore table) {
    String what = "table " + table.displayName();
    records += tree(what, table.tree);
    IndexCore[] indexes =
        Arrays.stream(table.indexes()).filter(i -> i.stage.isComplete()).toArray(IndexCore[]::new);
    long[] entries = new long[indexes.length];
    for (int i = 0; i < indexes.length; i++) {
      entries[i] = tree(what + ", index " + indexes[i].name, indexes[i].tree);
    }
    try {
      contents(what, table, indexes, entries);
    } catch (OperationInterruptedException e) {
      throw e;
    } catch (FoveaException | IndexOutOfBoundsException e) {
      census.problem(what + ": " + e.getMessage());
    }
  }

  /** Checks a tree and its counts; returns the number of records. */
  private long tree(String what, BTree tree) {
    TreeVerifier.Report report = census.verify(what, tree);
    TreeCounts counts = tree.counts();
    if (counts.isKnown()
        && (counts.records() != report.keys() || counts.bytes() != report.bytes())) {
      census.problem(
          what
              + ": the count says "
              + counts.records()
              + " records with "
              + counts.bytes()
              + " bytes, but there are "
              + report.keys()
              + " with "
              + report.bytes()
              + " bytes");
    }
    return report.keys();
  }

  private void contents(String what, TableCore table, IndexCore[] indexes, long[] entries) {
    if (table.layout == null && indexes.length == 0) {
      return;
    }
    StatementContext context = new StatementContext();
    Position p = new Position();
    long[] expected = new long[indexes.length];
    @Nullable Failure[] failures = new Failure[indexes.length];
    long entryBytes = 8;
    for (IndexCore i : indexes) {
      entryBytes = Math.max(entryBytes, i.entryBytesMax());
    }
    MemorySegment entry = Arena.ofAuto().allocate(entryBytes, 8);
    MemorySegment found = Arena.ofAuto().allocate(table.tree.maxKeySize() + 16L, 8);
    MemorySegment renewed = Arena.ofAuto().allocate(Math.max(8, table.recordBytes()), 8);
    TreeWalk.forEach(
        table.tree,
        (k, kOff, kLen, v, vOff, vLen) -> {
          if (kLen > table.keyBytesMax) {
            census.problem(
                what + ": a key of " + kLen + " bytes; the table allows " + table.keyBytesMax);
            return;
          }
          OperationInterruptedException.check("verify the records");
          boolean old = table.layout != null && vLen != table.storedBytes;
          if (old && table.old.upgrade(vLen, v, vOff, renewed, 0) == LegacyRowReader.UNKNOWN) {
            census.problem(
                what
                    + ": a record of "
                    + vLen
                    + (table.storedBytes < 0
                        ? " bytes that are no row of the table"
                        : " bytes instead of " + table.recordBytes()));
            return;
          }
          for (int i = 0; i < indexes.length; i++) {
            IndexCore index = indexes[i];
            if (index.isExtracted() && index.maker == null) {
              expected[i] = -1;
              continue;
            }
            MemorySegment record = old ? renewed : v;
            long at = old ? 0 : vOff;
            int len;
            try {
              len =
                  IndexMaintenance.entry(
                      context, table, index, k, kOff, kLen, record, at, vLen, entry, 0);
            } catch (RuntimeException e) {
              if (!index.isExtracted()) {
                throw e;
              }
              // An error in the program's extractor: the expected entry is unknown.
              if (failures[i] == null) {
                failures[i] = new Failure(KeyText.of(table.key, k, kOff, kLen), e);
              }
              failures[i].records++;
              continue;
            }
            if (len < 0) {
              continue;
            }
            expected[i]++;
            if (!names(index, entry, len, p, found, k, kOff, kLen)) {
              census.problem(
                  what
                      + ", index "
                      + index.name
                      + ": the entry of a record is missing or names another: "
                      + KeyText.of(table.key, k, kOff, kLen));
            }
          }
        });
    for (int i = 0; i < indexes.length; i++) {
      Failure f = failures[i];
      if (f != null) {
        census.problem(
            what
                + ", index "
                + indexes[i].name
                + ": its extractor throws for "
                + f.records
                + " records, whose entries can't be checked; for the first of them, "
                + f.key
                + ": "
                + f.thrown);
      } else if (expected[i] >= 0 && expected[i] != entries[i]) {
        census.problem(
            what
                + ", index "
                + indexes[i].name
                + ": "
                + entries[i]
                + " entries, where the records have "
                + expected[i]);
      }
    }
  }

  /** The first record for which an extractor throws, and the number of such records. */
  private static final class Failure {
    final String key;
    final RuntimeException thrown;
    long records;

    Failure(String key, RuntimeException thrown) {
      this.key = key;
      this.thrown = thrown;
    }
  }

  /**
   * Returns whether an index has an entry whose value is the primary key, optionally with a hint.
   */
  private static boolean names(
      IndexCore index,
      MemorySegment entry,
      int len,
      Position p,
      MemorySegment found,
      MemorySegment k,
      long kOff,
      int kLen) {
    BTree tree = index.tree;
    while (true) {
      tree.find(entry, 0, len, p);
      int n = p.found ? tree.copyValue(p, found, 0, (int) found.byteSize()) : 0;
      boolean exists = p.found;
      if (n >= 0 && tree.valid(p)) {
        return exists
            && index.hints.keyLength(n) == kLen
            && Mem.equal(found, 0, kLen, k, kOff, kLen);
      }
    }
  }
}
