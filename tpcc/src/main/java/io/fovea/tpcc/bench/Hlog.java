package io.fovea.tpcc.bench;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogWriter;

/**
 * Writes interval histograms: one line per second and kind of transaction, tagged with the kind.
 */
public final class Hlog implements AutoCloseable {
  private static final double NANOS_PER_MILLI = 1e6;

  private final List<String> tags;
  private final PrintStream stream;
  private final HistogramLogWriter writer;
  private final long startMillis = System.currentTimeMillis();
  private long sinceMillis = startMillis;

  /**
   * Creates a file.
   *
   * @param title a description of the run
   * @param tags one for each of the histograms of {@link #write}
   */
  public Hlog(Path file, String title, List<String> tags) throws IOException {
    this.tags = List.copyOf(tags);
    stream = new PrintStream(Files.newOutputStream(file), false, StandardCharsets.US_ASCII);
    writer = new HistogramLogWriter(stream);
    writer.outputComment("[" + title + ", values in nanoseconds]");
    writer.outputLogFormatVersion();
    writer.outputStartTime(startMillis);
    writer.setBaseTime(startMillis);
    writer.outputLegend();
  }

  /** Writes the histograms of an interval; null ones are skipped. */
  public void write(Histogram[] interval) {
    long now = System.currentTimeMillis();
    for (int i = 0; i < interval.length; i++) {
      Histogram h = interval[i];
      if (h != null) {
        h.setTag(tags.get(i));
        writer.outputIntervalHistogram(
            (sinceMillis - startMillis) / 1e3, (now - startMillis) / 1e3, h, NANOS_PER_MILLI);
      }
    }
    sinceMillis = now;
  }

  /**
   * Closes the file.
   *
   * @throws IOException if some of it could not be written
   */
  @Override
  public void close() throws IOException {
    boolean failed = stream.checkError();
    stream.close();
    if (failed) {
      throw new IOException("some of the histograms could not be written");
    }
  }
}
