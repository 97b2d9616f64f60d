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
 * Standard output, for all commands. A {@link PrintWriter} keeps errors to itself; this one throws
 * at the first, so that a command ends at once and with an {@linkplain Failed exit code}. Each line
 * is written when it is complete. One thread.
 */
final class Output extends Writer {
  /** What standard output is, on Linux. */
  private static final Path STANDARD_OUTPUT = Path.of("/proc/self/fd/1");

  private final Writer to;
  private final boolean pipe;

  /** The first error; what comes after it is not written. */
  private @Nullable Failed first;

  private Output(OutputStream to, boolean pipe) {
    this.to = new OutputStreamWriter(to, StandardCharsets.UTF_8);
    this.pipe = pipe;
  }

  /** The standard output of this process. */
  static PrintWriter standard() {
    return new PrintWriter(new Output(new FileOutputStream(FileDescriptor.out), isPipe()), true);
  }

  /** A writer of text to a stream; it throws {@link Failed} where that takes no more. */
  static PrintWriter to(OutputStream stream) {
    return new PrintWriter(new Output(stream, false), true);
  }

  /** The output takes no more. Unchecked, since a {@link PrintWriter} catches the others. */
  static final class Failed extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** The exit code: of a reader that has gone, what a shell says of a tool that SIGPIPE ends. */
    final int code;

    private Failed(String what, IOException cause, int code) {
      super(what + ": " + cause.getMessage(), cause);
      this.code = code;
    }

    /** A file that a command writes takes no more. */
    static Failed of(Path file, IOException cause) {
      return new Failed(file.toString(), cause, Main.NO_OUTPUT);
    }

    /** Whether the reader has gone, as {@code head} does: then there is nothing to say. */
    boolean isQuiet() {
      return code == Main.BROKEN_PIPE;
    }
  }

  private Failed failed(IOException e) {
    // The message is the system's, in the user's language; writing to a pipe has no other error.
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

  /** Does nothing after an error: who wrote has got it. */
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
