package io.fovea.tpcc;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogWriter;

/** Writes interval histograms, one line a second and transaction type, tagged with the type. */
final class Hlog implements AutoCloseable {
  private static final double NANOS_PER_MILLI = 1e6;

  private final PrintStream stream;
  private final HistogramLogWriter writer;
  private final long startMillis = System.currentTimeMillis();
  private long sinceMillis = startMillis;

  Hlog(Settings settings) throws IOException {
    stream =
        new PrintStream(Files.newOutputStream(settings.hlog()), false, StandardCharsets.US_ASCII);
    writer = new HistogramLogWriter(stream);
    writer.outputComment(
        "[TPC-C on Fovea, mix "
            + settings.mix()
            + ", durability "
            + settings.level()
            + ", values in nanoseconds]");
    writer.outputLogFormatVersion();
    writer.outputStartTime(startMillis);
    writer.setBaseTime(startMillis);
    writer.outputLegend();
  }

  /** Writes what was recorded since the interval before. */
  void write(Histogram[] interval) {
    long now = System.currentTimeMillis();
    for (TxnType type : TxnType.values()) {
      Histogram h = interval[type.ordinal()];
      if (h != null) {
        h.setTag(type.id);
        writer.outputIntervalHistogram(
            (sinceMillis - startMillis) / 1e3, (now - startMillis) / 1e3, h, NANOS_PER_MILLI);
      }
    }
    sinceMillis = now;
  }

  /**
   * Ends the file.
   *
   * @throws IOException if not all of it could be written
   */
  @Override
  public void close() throws IOException {
    boolean failed = stream.checkError();
    stream.close();
    if (failed) {
      throw new IOException("not all of it could be written");
    }
  }
}
