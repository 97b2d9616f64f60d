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
 * The parts of a store, created by {@link Opening} and released by {@link Closing}.
 *
 * @param name the name in log lines
 * @param id the id of the database
 * @param config the configuration as opened; for a read-only file, with the page size of the file
 * @param storage the files; null in memory
 * @param lock the lock of the file; null in memory, or if the caller prevents concurrent openings
 * @param device the device with the pages
 * @param superblocks the superblocks of the file; null in memory
 * @param journal the log with recovery and checkpoints; null without a log
 * @param pool the pool of the pages
 * @param engine the transactions
 * @param timestamps the file of timestamps; null if timestamps are in memory
 * @param keyLocations the key location cache
 * @param catalog the tree of the catalog
 * @param treeIds the next unused tree id
 * @param counts the counts of trees, from recovery or from the database of a snapshot; null if the
 *     catalog contains them
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
   * @param counted the number that identifies the counts in the catalog
   */
  void writeSuperblock(SuperblockFile file, boolean clean, long counted) {
    file.write(
        file.current().with(clean, treeIds.get(), pool.allocatorState()).withCounts(counted));
  }

  /** Returns the superblock of a complete copy without a log. */
  Superblock complete() {
    Superblock s =
        superblocks == null
            ? Superblock.ofNew(config.pageSize()).withNewIdentity(id)
            : superblocks.current();
    return s.with(true, treeIds.get(), pool.allocatorState());
  }

  /** Returns the end of a message about a file that is not marked clean. */
  String uncleanAdvice() {
    return journal == null
        ? ": its file can't be opened again."
        : ": it is recovered from its log when it is opened again.";
  }
}
