package io.fovea.recovery;

import java.io.IOException;

/**
 * The destination of a backup: files written one after the other, each from beginning to end.
 *
 * <pre>
 *   begin(suffix, bytes) ─► write ... write ─► end()   once for each file
 *   finish()   all files are durable, under their names
 *   close()    without finish before it: nothing remains
 * </pre>
 *
 * <p>Used by one thread.
 */
interface BackupTarget extends AutoCloseable {
  /** Begins a file of a known length. */
  void begin(String suffix, long bytes) throws IOException;

  /** Writes the next bytes. */
  void write(byte[] from, int off, int len) throws IOException;

  void end() throws IOException;

  /** Ends the backup. */
  void finish() throws IOException;

  /** Releases everything and removes unfinished files. */
  @Override
  void close();
}
