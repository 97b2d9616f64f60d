package io.fovea.recovery;

import java.io.IOException;

/**
 * Where a backup goes: files, one after the other, each written from its beginning to its end.
 *
 * <pre>
 *   begin(suffix, bytes) ─► write ... write ─► end()   once for each file
 *   finish()   all files are durable, under their names
 *   close()    without finish before it: nothing is left
 * </pre>
 *
 * <p>One thread.
 */
interface BackupTarget extends AutoCloseable {
  /** Begins a file of a known length. */
  void begin(String suffix, long bytes) throws IOException;

  /** Writes what comes next. */
  void write(byte[] from, int off, int len) throws IOException;

  /** Ends the file. */
  void end() throws IOException;

  /** Ends the backup. */
  void finish() throws IOException;

  /** Gives everything back; takes away what is not finished. */
  @Override
  void close();
}
