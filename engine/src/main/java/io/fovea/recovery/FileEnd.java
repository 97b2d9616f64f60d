package io.fovea.recovery;

import io.fovea.buffer.BufferPool;
import io.fovea.error.CorruptionException;
import io.fovea.error.PoolExhaustedException;
import io.fovea.error.StorageException;
import io.fovea.wal.LogSession;
import java.lang.System.Logger.Level;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Shortens the data file, for checkpoints and a close: cuts off free pages at its end, and
 * truncates the file once the superblock that allows it is durable.
 *
 * <p>Used by one thread.
 *
 * @since 0.1.0
 */
public final class FileEnd {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  private final String name;
  private final BufferPool pool;
  private final SuperblockFile superblocks;
  private final Supplier<LogSession> sessions;
  private final long nanos;
  private final long pages;
  private @Nullable LogSession session;
  private boolean cutFailed;

  /**
   * Creates an instance for a file.
   *
   * @param name the database's name, for messages
   * @param sessions creates the session that logs cuts, when the first one is made
   * @param nanos how long one cut searches for free pages
   * @param pages the maximum number of pages that one cut removes
   */
  public FileEnd(
      String name,
      BufferPool pool,
      SuperblockFile superblocks,
      Supplier<LogSession> sessions,
      long nanos,
      long pages) {
    this.name = name;
    this.pool = pool;
    this.superblocks = superblocks;
    this.sessions = sessions;
    this.nanos = nanos;
    this.pages = pages;
  }

  /**
   * Removes free pages at the end of the file from the free list, if there are enough of them.
   * Limited in time; unfinished work is started again by the next call.
   *
   * @param stop ends the call early
   * @return whether a cut was tried and completed
   */
  public boolean cut(BooleanSupplier stop) {
    long min = pool.checkpoint().space().worthCutting();
    if (min == Long.MAX_VALUE || cutFailed) {
      return false;
    }
    LogSession own = session;
    if (own == null) {
      own = sessions.get();
      session = own;
    }
    long end = System.nanoTime() + nanos;
    try {
      pool.checkpoint()
          .space()
          .cut(own, min, pages, () -> System.nanoTime() > end || stop.getAsBoolean());
      return true;
    } catch (CorruptionException e) {
      cutFailed = true; // allocations report it too
      LOG.log(Level.WARNING, name + ": the list of free pages is damaged", e);
    } catch (StorageException | PoolExhaustedException e) {
      LOG.log(Level.DEBUG, name + ": the data file could not be shortened", e);
    }
    return false;
  }

  /**
   * Truncates the file to the high-water mark of the valid superblock.
   *
   * @param all whether to release space allocated ahead of need as well
   * @return whether the file is shorter now
   */
  public boolean shrink(boolean all) {
    try {
      return pool.checkpoint().space().shrink(superblocks.current().allocator().highWater(), all);
    } catch (StorageException e) {
      LOG.log(Level.DEBUG, name + ": the data file could not be shortened", e);
      return false;
    }
  }
}
