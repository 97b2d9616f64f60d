package io.fovea.recovery;

import io.fovea.buffer.BufferPool;
import io.fovea.error.CorruptionException;
import io.fovea.error.PoolExhaustedException;
import io.fovea.error.StorageException;
import io.fovea.io.KillPoint;
import io.fovea.wal.Log;
import io.fovea.wal.LogSession;
import java.lang.System.Logger.Level;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What a checkpoint does about the end of the data file: free pages there are cut off, and the file
 * is made shorter once the superblock that says so is durable.
 *
 * <p>One thread: that of the {@link Checkpointer}.
 */
final class FileEnd {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  /**
   * How long a checkpoint looks for free pages at the end of the file, and how many it cuts off.
   */
  private static final long CUT_NANOS = 100_000_000;

  private static final long CUT_PAGES = 1 << 16;

  private final String name;
  private final Log log;
  private final BufferPool pool;
  private final SuperblockFile superblocks;
  private @Nullable LogSession cutSession;
  private boolean cutFailed;

  FileEnd(String name, Log log, BufferPool pool, SuperblockFile superblocks) {
    this.name = name;
    this.log = log;
    this.pool = pool;
    this.superblocks = superblocks;
  }

  /**
   * Takes free pages at the end of the file out of the free list, if there are enough of them. Not
   * for long: what is not done in that time is begun anew at the next checkpoint.
   *
   * @param stop says that it is to end early
   */
  void cut(BooleanSupplier stop) {
    long least = pool.checkpoint().space().worthCutting();
    if (least == Long.MAX_VALUE || cutFailed) {
      return;
    }
    LogSession own = cutSession;
    if (own == null) {
      own = log.session();
      cutSession = own;
    }
    long end = System.nanoTime() + CUT_NANOS;
    try {
      pool.checkpoint()
          .space()
          .cut(own, least, CUT_PAGES, () -> System.nanoTime() > end || stop.getAsBoolean());
      KillPoint.here("checkpoint.cut");
    } catch (CorruptionException e) {
      cutFailed = true; // who allocates is told, too
      LOG.log(Level.WARNING, name + ": the list of free pages is damaged", e);
    } catch (StorageException | PoolExhaustedException e) {
      LOG.log(Level.DEBUG, name + ": the file stays longer than it need be", e);
    }
  }

  /**
   * The superblock that counts has the mark: behind it the file may end.
   *
   * @param all whether room ahead of need goes as well
   */
  void shrink(boolean all) {
    try {
      if (pool.checkpoint().space().shrink(superblocks.current().allocator().highWater(), all)) {
        KillPoint.here("checkpoint.shrunk");
      }
    } catch (StorageException e) {
      LOG.log(Level.DEBUG, name + ": the file stays longer than it need be", e);
    }
  }
}
