package io.fovea;

import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleFormatException;
import java.nio.file.Path;

/**
 * Verifies the file of a database that nobody has open, after a test has closed it.
 *
 * <p>Indexes by extractors are checked for their structure only, since a file does not hold the
 * extractors. Any thread.
 */
public final class FileVerifier {
  private static final long BUFFER_BYTES = 32L << 20;

  private FileVerifier() {}

  /**
   * Verifies a file.
   *
   * @param file the file; it is not changed
   * @return what was found
   * @throws IncompatibleFormatException if there is no such file, or it is no database
   * @throws FoveaException if it can't be looked at for another reason: it is open already, for
   *     example
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

  /** What files are looked at with. */
  static Options options() {
    return Options.defaults().bufferBytes(BUFFER_BYTES);
  }
}
