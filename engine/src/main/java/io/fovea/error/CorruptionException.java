package io.fovea.error;

/**
 * Thrown when a file does not contain what was written to it.
 *
 * <p>The database stays open, and operations that do not touch the damaged page continue to work.
 * Check the file with the verifier, and restore it from a backup.
 *
 * @since 0.1.0
 */
public final class CorruptionException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** The page id, or -1. */
  private final long pid;

  /** The offset in the file in bytes, or -1. */
  private final long fileOffset;

  /** The expected content. */
  private final long expected;

  /** The content that was found. */
  private final long found;

  /**
   * Creates the exception.
   *
   * @param what what was checked, such as {@code "checksum"}
   * @param pid the page id, or -1 if no page is concerned
   * @param fileOffset the offset in the file in bytes, or -1 if unknown
   * @param expected the expected content
   * @param found the content that was found
   */
  public CorruptionException(String what, long pid, long fileOffset, long expected, long found) {
    super(
        "Corrupt data: "
            + what
            + (pid < 0 ? "" : ", page " + pid)
            + (fileOffset < 0 ? "" : ", file offset " + fileOffset)
            + ": expected "
            + number(expected)
            + ", found "
            + number(found)
            + ". Check the file with the verifier, and restore it from a backup.");
    this.pid = pid;
    this.fileOffset = fileOffset;
    this.expected = expected;
    this.found = found;
  }

  private static String number(long n) {
    return n >= 0 && n < 1 << 20 ? Long.toString(n) : "0x" + Long.toHexString(n);
  }

  /**
   * Returns the damaged page.
   *
   * @return a page id, or -1 if no page is concerned
   */
  public long pid() {
    return pid;
  }

  /**
   * Returns the position of the damage in the file.
   *
   * @return an offset in bytes, or -1 if unknown
   */
  public long fileOffset() {
    return fileOffset;
  }

  /**
   * Returns the expected content.
   *
   * @return a number, explained by the message
   */
  public long expected() {
    return expected;
  }

  /**
   * Returns the content that was found.
   *
   * @return a number, explained by the message
   */
  public long found() {
    return found;
  }
}
