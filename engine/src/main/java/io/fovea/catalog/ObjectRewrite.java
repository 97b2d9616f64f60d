package io.fovea.catalog;

import io.fovea.btree.LeafScan;
import io.fovea.index.ObjectRewriter;
import io.fovea.index.StatementContext;
import io.fovea.index.TableCore;
import io.fovea.memory.Mem;
import io.fovea.store.Store;
import io.fovea.txn.Tx;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Rewrites the objects of a table whose version is not that of the newest class, while transactions
 * change the table.
 *
 * <pre>
 *   older handles may not write ─ grace ─► pieces ─ grace ─► catalog: no object has another version
 * </pre>
 *
 * <p><b>Pieces are ordinary transactions</b>, as in {@link IndexBuild}. Keys are found by a leaf
 * scan outside the transaction, which finds every key that is present throughout. All new objects
 * have the newest version, and an object found with that version keeps it. An interrupted rewrite
 * is repeated from the beginning, and skips what it has rewritten without using a transaction.
 *
 * <p>The piece size is halved after each conflict. Confined to one thread.
 */
public final class ObjectRewrite {
  /** Receives the progress. */
  @FunctionalInterface
  public interface Listener {
    /** Called after each piece. */
    void at(long read, long rewritten);
  }

  /** The number of objects that a piece rewrites, before it is halved. */
  private static final int PIECE_RECORDS = 128;

  /**
   * A piece ends when its old and new objects have this many bytes, so that no piece of more than
   * one object exceeds the limits of a transaction.
   */
  private static final long PIECE_BYTES = 64 << 10;

  /** The number of objects that a piece reads. */
  private static final int PIECE_READS = 4096;

  private final CatalogCallbacks catalogCallbacks;
  private final TableCore core;
  private final IndexBuild waits;
  private final BackgroundThrottle backgroundThrottle;
  private final int version;
  private final ObjectRewriter.Converter converter;
  private final LeafScan scan = new LeafScan();
  private int lastLength = -1;
  private long pieceRead;
  private long pieceRewritten;
  private boolean more = true;

  ObjectRewrite(
      CatalogCallbacks catalogCallbacks,
      Store store,
      TableCore core,
      String what,
      int version,
      ObjectRewriter.Converter converter) {
    this.catalogCallbacks = catalogCallbacks;
    this.core = core;
    this.waits = new IndexBuild(catalogCallbacks, store, core, what);
    this.backgroundThrottle = waits.backgroundThrottle();
    this.version = version;
    this.converter = converter;
  }

  /** Rewrites the objects; no transaction that begins afterwards finds another version. */
  void run(Listener listener) {
    core.firstWriter(version);
    waits.awaitOthers();
    long read = 0;
    long rewritten = 0;
    int keyMax = Math.max(8, core.tree.maxKeySize());
    try (Arena arena = Arena.ofShared()) {
      MemorySegment last = arena.allocate(keyMax, 8);
      MemorySegment next = arena.allocate(keyMax, 8);
      backgroundThrottle.begin();
      while (more) {
        waits.check();
        int from = lastLength;
        catalogCallbacks.transact(
            (statementContext, tx, attempt) ->
                piece(statementContext, tx, attempt, last, from, next));
        read += pieceRead;
        rewritten += pieceRewritten;
        if (lastLength >= 0) {
          MemorySegment.copy(next, 0, last, 0, lastLength);
        }
        listener.at(read, rewritten);
        backgroundThrottle.committed();
        backgroundThrottle.pause();
      }
    }
    waits.awaitOthers();
  }

  private void piece(
      StatementContext statementContext,
      Tx tx,
      int attempt,
      MemorySegment last,
      int from,
      MemorySegment next) {
    int max = Math.max(1, PIECE_RECORDS >> Math.min(30, attempt - 1));
    pieceRead = 0;
    pieceRewritten = 0;
    long pieceBytes = 0;
    lastLength = from;
    more = true;
    scan.seek(core.tree, last, 0, from, from < 0, false);
    while (scan.load()) {
      for (int slot = scan.from(); slot < scan.to(); slot++) {
        if (pieceRewritten == max || pieceBytes >= PIECE_BYTES || pieceRead == PIECE_READS) {
          return;
        }
        lastLength = scan.copyKey(slot, next, 0);
        pieceRead++;
        boolean current =
            !scan.isOverflow(slot)
                && scan.valueLength(slot) > 0
                && Byte.toUnsignedInt(Mem.getByte(scan.segment(), scan.valueOffset(slot)))
                    == version;
        long bytes =
            current
                ? 0
                : ObjectRewriter.rewrite(
                    statementContext, tx, core, version, converter, next, lastLength);
        pieceBytes += bytes;
        pieceRewritten += bytes > 0 ? 1 : 0;
      }
    }
    more = false;
  }
}
