package io.fovea;

import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleFormatException;
import java.nio.file.Path;

/**
 * Verifies the file of a closed database. Thread-safe.
 *
 * <p>Indexes by extractors are checked only for their structure, since a file doesn't contain the
 * extractors.
 */
public final class FileVerifier {
  private static final long BUFFER_BYTES = 32L << 20;

  private FileVerifier() {}

  /**
   * Verifies a file.
   *
   * @param file the file; it is not changed
   * @return the findings
   * @throws IncompatibleFormatException if there is no such file, or it is no database
   * @throws FoveaException if it can't be read, for example because it is open
   */
  public static VerifyReport verify(Path file) {
    FileReport report = FileReport.verify(file, options());
    return new VerifyReport(
        report.header().pages(),
        report.freePages(),
        report.trees().size(),
        report.records(),
        report.problems());
  }

  /** Returns the options for opening files to verify. */
  static Options options() {
    return Options.defaults().bufferBytes(BUFFER_BYTES);
  }
}
