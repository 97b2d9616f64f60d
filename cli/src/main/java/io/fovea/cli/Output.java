package io.fovea.cli;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Standard output of all commands. Unlike a {@link PrintWriter}, which hides errors, it throws at
 * the first one, so that a command ends at once with an {@linkplain Failed exit code}. Each line is
 * written when it is complete. Not thread-safe.
 */
final class Output extends Writer {
  /** Standard output on Linux. */
  private static final Path STANDARD_OUTPUT = Path.of("/proc/self/fd/1");

  private final Writer to;
  private final boolean pipe;

  /** The first error; nothing is written after it. */
  private @Nullable Failed first;

  private Output(OutputStream to, boolean pipe) {
    this.to = new OutputStreamWriter(to, StandardCharsets.UTF_8);
    this.pipe = pipe;
  }

  /** Returns the standard output of this process. */
  static PrintWriter standard() {
    return new PrintWriter(new Output(new FileOutputStream(FileDescriptor.out), isPipe()), true);
  }

  /** Returns a writer to a stream; it throws {@link Failed} on an error. */
  static PrintWriter to(OutputStream stream) {
    return new PrintWriter(new Output(stream, false), true);
  }

  /**
   * The output can't be written. Unchecked, because a {@link PrintWriter} catches other exceptions.
   */
  static final class Failed extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** The exit code; if the reader is gone, the one that shells use for SIGPIPE. */
    final int code;

    private Failed(String what, IOException cause, int code) {
      super(what + ": " + cause.getMessage(), cause);
      this.code = code;
    }

    /** Returns the failure of a file that a command writes. */
    static Failed of(Path file, IOException cause) {
      return new Failed(file.toString(), cause, Main.NO_OUTPUT);
    }

    /** Whether the reader is gone, as after {@code head}: nothing is reported then. */
    boolean isQuiet() {
      return code == Main.BROKEN_PIPE;
    }
  }

  private Failed failed(IOException e) {
    // The message is localized by the system; writing to a pipe has no other error.
    boolean gone = pipe || String.valueOf(e.getMessage()).contains("Broken pipe");
    Failed f = new Failed("standard output", e, gone ? Main.BROKEN_PIPE : Main.NO_OUTPUT);
    first = f;
    return f;
  }

  private static boolean isPipe() {
    try {
      return Files.readSymbolicLink(STANDARD_OUTPUT).toString().startsWith("pipe:");
    } catch (IOException | UnsupportedOperationException none) {
      return false;
    }
  }

  @Override
  public void write(char[] chars, int from, int length) {
    Failed before = first;
    if (before != null) {
      throw before;
    }
    try {
      to.write(chars, from, length);
    } catch (IOException e) {
      throw failed(e);
    }
  }

  /** Does nothing after an error, which the writer has already received. */
  @Override
  public void flush() {
    if (first != null) {
      return;
    }
    try {
      to.flush();
    } catch (IOException e) {
      throw failed(e);
    }
  }

  @Override
  public void close() {
    flush();
  }
}
