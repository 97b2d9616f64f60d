package io.fovea.replication;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Copies of the database that are being sent, in chunks that the receiver requests by number.
 *
 * <p>A copy is produced as it is consumed: its thread waits while a few chunks are ready. So it
 * needs no disk space, and a slow receiver slows only the copy. A chunk whose answer was lost can
 * be requested again. If the receiver requests nothing for {@link #PATIENCE_SECONDS}, the copy
 * ends, because a running copy keeps the database's log from being dropped.
 *
 * <p>Thread-safe.
 */
public final class Copies implements AutoCloseable {
  /** The size of every chunk but the last, in bytes. */
  public static final int CHUNK_BYTES = 1 << 20;

  private static final int PATIENCE_SECONDS = 30;
  private static final int AHEAD = 4;
  private static final byte[] END = new byte[0];

  /** Supplies the chunks of a copy. */
  public interface Source {
    /**
     * Requests a chunk.
     *
     * @param number the number of the chunk, from 0
     * @return the chunk; empty at the end; null if it is not ready
     * @throws IOException if the copy has ended
     */
    byte @Nullable [] chunk(long number) throws IOException;
  }

  private final Consumer<OutputStream> copy;
  private final Map<Long, Given> given = new ConcurrentHashMap<>();

  /**
   * Creates copies of a database.
   *
   * @param copy writes a copy to a stream
   */
  public Copies(Consumer<OutputStream> copy) {
    this.copy = copy;
  }

  /**
   * Begins a copy.
   *
   * @return its id, for {@link #chunk}
   */
  public long begin() {
    long id = ThreadLocalRandom.current().nextLong();
    Given g = new Given();
    given.put(id, g);
    Thread.ofPlatform()
        .daemon()
        .name("fovea-copy")
        .start(
            () -> {
              g.make(copy);
              given.remove(id, g);
            });
    return id;
  }

  /**
   * Returns a chunk of a copy.
   *
   * @param id the copy
   * @param number the next chunk, or the last one again
   * @return the chunk; empty at the end; null if it is not ready
   * @throws IOException if the copy has ended or failed
   */
  public byte @Nullable [] chunk(long id, long number) throws IOException {
    Given g = given.get(id);
    if (g == null) {
      throw new IOException(
          "The copy "
              + Long.toHexString(id)
              + " has ended: it failed, or its next chunk was not requested within "
              + PATIENCE_SECONDS
              + " s. Begin another one.");
    }
    return g.chunk(number);
  }

  @Override
  public void close() {
    given.values().forEach(g -> g.ended = true);
  }

  private static final class Given {
    private final BlockingQueue<byte[]> ready = new ArrayBlockingQueue<>(AHEAD);
    private volatile boolean ended;
    private volatile @Nullable Throwable failure;
    private byte[] last = END;
    private long lastNumber = -1;

    void make(Consumer<OutputStream> copy) {
      try (Chunks out = new Chunks()) {
        copy.accept(out);
        out.flushChunk();
        put(END);
        // The last chunk may be asked for again.
        for (int i = 0; i < PATIENCE_SECONDS && !ended; i++) {
          TimeUnit.SECONDS.sleep(1);
        }
      } catch (IOException | RuntimeException e) {
        failure = e;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    private void put(byte[] chunk) throws IOException {
      try {
        for (int i = 0; i < PATIENCE_SECONDS * 10; i++) {
          if (ended) {
            break;
          }
          if (ready.offer(chunk, 100, TimeUnit.MILLISECONDS)) {
            return;
          }
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException();
      }
      throw new IOException("The receiver no longer requests chunks of the copy.");
    }

    synchronized byte @Nullable [] chunk(long number) throws IOException {
      if (number == lastNumber) {
        return last;
      }
      if (number != lastNumber + 1) {
        throw new IOException(
            "Chunk "
                + number
                + " of a copy was asked for; the next one is "
                + (lastNumber + 1)
                + ".");
      }
      byte[] next = null;
      try {
        next = ready.poll(500, TimeUnit.MILLISECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException();
      }
      if (next == null) {
        Throwable f = failure;
        if (f != null) {
          throw new IOException("The copy has failed: " + f.getMessage(), f);
        }
        return null;
      }
      last = next;
      lastNumber = number;
      return next;
    }

    /** Cuts the stream into chunks. */
    private final class Chunks extends OutputStream {
      private byte[] chunk = new byte[CHUNK_BYTES];
      private int length;

      @Override
      public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
      }

      @Override
      public void write(byte[] b, int off, int len) throws IOException {
        for (int done = 0; done < len; ) {
          int n = Math.min(len - done, CHUNK_BYTES - length);
          System.arraycopy(b, off + done, chunk, length, n);
          length += n;
          done += n;
          if (length == CHUNK_BYTES) {
            flushChunk();
          }
        }
      }

      void flushChunk() throws IOException {
        if (length > 0) {
          put(length == CHUNK_BYTES ? chunk : Arrays.copyOf(chunk, length));
          chunk = new byte[CHUNK_BYTES];
          length = 0;
        }
      }
    }
  }

  /**
   * Reads a copy chunk by chunk.
   *
   * @param source supplies the chunks
   * @param told receives the size of each chunk
   * @return the copy; not thread-safe
   */
  public static InputStream read(Source source, Consumer<Integer> told) {
    return new InputStream() {
      private byte[] chunk = END;
      private int at;
      private long number;
      private boolean atEnd;

      private boolean more() throws IOException {
        while (at == chunk.length && !atEnd) {
          byte[] next = source.chunk(number);
          if (next != null) {
            chunk = next;
            at = 0;
            number++;
            atEnd = next.length == 0;
            told.accept(next.length);
          }
        }
        return !atEnd;
      }

      @Override
      public int read() throws IOException {
        return more() ? chunk[at++] & 0xFF : -1;
      }

      @Override
      public int read(byte[] b, int off, int len) throws IOException {
        if (len == 0) {
          return 0;
        }
        if (!more()) {
          return -1;
        }
        int n = Math.min(len, chunk.length - at);
        System.arraycopy(chunk, at, b, off, n);
        at += n;
        return n;
      }
    };
  }
}
