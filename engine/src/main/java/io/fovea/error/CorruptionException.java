package io.fovea.error;

/**
 * Something in a file is not what was written there.
 *
 * <p>Thrown instead of a wrong answer. The database stays open for what does not touch the damaged
 * place; its file should be checked with the verifier and restored from a backup.
 *
 * @since 0.1.0
 */
public final class CorruptionException extends FoveaException {
  private static final long serialVersionUID = 1L;

  /** The page id, or -1. */
  private final long pid;

  /** Bytes from the start of the file, or -1. */
  private final long fileOffset;

  /** What should be there. */
  private final long expected;

  /** What is there. */
  private final long found;

  /**
   * Makes one.
   *
   * @param what what was looked at, as in {@code "checksum"}
   * @param pid the page id, or -1 where no page is meant
   * @param fileOffset where in the file, in bytes, or -1 where that is not known
   * @param expected what should be there
   * @param found what is there
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
   * The page that is damaged.
   *
   * @return a page id, or -1 where no page is meant
   */
  public long pid() {
    return pid;
  }

  /**
   * Where in the file the damage was seen.
   *
   * @return bytes from the start of the file, or -1 where that is not known
   */
  public long fileOffset() {
    return fileOffset;
  }

  /**
   * The expected content.
   *
   * @return a number whose meaning the message tells
   */
  public long expected() {
    return expected;
  }

  /**
   * The content that was found.
   *
   * @return a number whose meaning the message tells
   */
  public long found() {
    return found;
  }
}
