package io.fovea.store;

import io.fovea.btree.BTree;
import io.fovea.buffer.BufferPool;
import io.fovea.io.BlockDevice;
import io.fovea.io.FileLock;
import io.fovea.io.Storage;
import io.fovea.recovery.RecoveredRowCounts;
import io.fovea.recovery.Superblock;
import io.fovea.recovery.SuperblockFile;
import io.fovea.txn.TxEngine;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * What a store consists of. {@link Opening} makes the parts, {@link Store} lends them to the rooms
 * above, {@link Closing} gives them back.
 *
 * @param name in log lines
 * @param id tells one database from another
 * @param config as it was opened: of a file that is read only, with the file's page size
 * @param storage the files; null in memory
 * @param lock of the file; null in memory, and where somebody else keeps the files to one opener
 * @param device of the pages
 * @param superblocks null in memory, where nothing survives
 * @param journal null where there is no log
 * @param pool of the pages
 * @param engine the transactions
 * @param timestamps null where timestamps are in memory
 * @param places where records were seen
 * @param catalog the tree that says which trees there are
 * @param treeIds the first id that no tree ever had
 * @param counts how many records trees have, where a recovery or the database of a snapshot knows
 *     it; null where the catalog says it
 */
record StoreComponents(
    String name,
    UUID id,
    StoreConfig config,
    @Nullable Storage storage,
    @Nullable FileLock lock,
    BlockDevice device,
    @Nullable SuperblockFile superblocks,
    @Nullable Journal journal,
    BufferPool pool,
    TxEngine engine,
    @Nullable TimestampFile timestamps,
    KeyLocations keyLocations,
    BTree catalog,
    AtomicInteger treeIds,
    @Nullable RecoveredRowCounts counts) {

  /**
   * Writes the superblock of a file without a log.
   *
   * @param counted which counts of trees the catalog has
   */
  void writeSuperblock(SuperblockFile file, boolean clean, long counted) {
    file.write(file.current().with(clean, treeIds.get(), pool.allocatorState()).counted(counted));
  }

  /** What the superblock of a copy says that is complete without a log. */
  Superblock complete() {
    Superblock s =
        superblocks == null
            ? Superblock.ofNew(config.pageSize()).identified(id)
            : superblocks.current();
    return s.with(true, treeIds.get(), pool.allocatorState());
  }

  /** The end of a message that says why a file is not marked clean: what becomes of the file. */
  String outlook() {
    return journal == null
        ? ": its file can't be opened again."
        : ": it is recovered from its log when it is opened again.";
  }
}
