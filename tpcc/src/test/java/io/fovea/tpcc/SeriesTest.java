package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.fovea.tpcc.bench.Sampler;
import io.fovea.tpcc.bench.Series;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SeriesTest {
  private static JsonObject report(Series series) {
    JsonObject report = new JsonObject();
    report.add("series", series.toJson());
    report.add("marks", series.marksToJson());
    return report;
  }

  @Test
  void jsonRoundTrips() {
    Series series = new Series(1);
    series.warmupSeconds(2.5);
    for (int i = 1; i <= 3; i++) {
      series.add(Series.SECOND, i);
      series.add(Series.OPERATIONS, 12_345_678.9012345 * i);
      series.add("workingSetPages", i == 2 ? Double.NaN : 1e15);
    }
    series.mark(2.5, "it \"ends\"");
    JsonObject json = report(series);
    assertTrue(json.toString().contains("\"operations\":[12345678.901,"), json.toString());
    Series read = Series.of(JsonParser.parseString(json.toString()).getAsJsonObject());
    assertEquals(List.copyOf(series.names()), List.copyOf(read.names()));
    assertEquals(1, read.intervalSeconds());
    assertEquals(2.5, read.warmupSeconds());
    assertEquals(3, read.size());
    assertArrayEquals(series.column(Series.OPERATIONS), read.column(Series.OPERATIONS), 1e-3);
    assertArrayEquals(new double[] {1e15, Double.NaN, 1e15}, read.column("workingSetPages"));
    assertEquals(series.marks(), read.marks());
    assertThrows(IllegalArgumentException.class, () -> read.column("misses"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{}",
        "{'series':[]}",
        "{'series':{}}",
        "{'series':{'intervalSeconds':1,'warmupSeconds':0}}",
        "{'series':{'intervalSeconds':1,'warmupSeconds':0,'second':[1,2],'operations':[1]}}",
        "{'series':{'intervalSeconds':1,'warmupSeconds':0,'second':['x'],'operations':[1]}}",
        "{'series':{'intervalSeconds':1,'warmupSeconds':0,'second':[1],'operations':[{}]}}",
        "{'series':{'intervalSeconds':{},'warmupSeconds':0,'second':[1],'operations':[1]}}",
        "{'series':{'intervalSeconds':1,'warmupSeconds':0,'second':[1],'operations':[1]},"
            + "'marks':[{}]}"
      })
  void invalidSeriesAreRefused(String json) {
    JsonObject report = JsonParser.parseString(json.replace('\'', '"')).getAsJsonObject();
    assertThrows(IllegalArgumentException.class, () -> Series.of(report));
  }

  @Test
  void samplerCountsIntervalsSeparately() {
    try (SmallDatabase small = new SmallDatabase(1, 1, 1)) {
      double[] pages = {7};
      Sampler sampler =
          new Sampler(small.database::stats, 100, 10).gauge("workingSetPages", () -> pages[0]);
      Histogram latencies = new Histogram(3);
      latencies.recordValueWithCount(2_000, 99);
      latencies.recordValue(50_000_000);
      sampler.sample(latencies, 400, 10);
      sampler.warmupEnds();
      pages[0] = 9;
      latencies.reset();
      sampler.mark("halfway");
      sampler.sample(latencies, 400, 15);
      Series s = sampler.series();
      double[] ends = s.column(Series.SECOND);
      double[] lengths = {ends[0], ends[1] - ends[0]};
      assertEquals(300, s.column(Series.OPERATIONS)[0] * lengths[0], 1e-3);
      assertEquals(0, s.column(Series.OPERATIONS)[1]);
      assertEquals(0, s.column(Series.RETRIES)[0]);
      assertEquals(5, s.column(Series.RETRIES)[1] * lengths[1], 1e-3);
      assertEquals(2, s.column(Series.P50_MICROS)[0], 0.01);
      assertEquals(50_000, s.column(Series.MAX_MICROS)[0], 50);
      assertTrue(Double.isNaN(s.column(Series.P50_MICROS)[1]), "nothing ended");
      assertArrayEquals(new double[] {7, 9}, s.column("workingSetPages"));
      assertTrue(s.names().containsAll(Series.STANDARD));
      assertEquals(ends[0], s.warmupSeconds());
      assertEquals(
          List.of(Sampler.WARMUP_ENDS, "halfway"),
          s.marks().stream().map(Series.Mark::text).toList());
      assertEquals(ends[0], s.marks().get(0).second());
    }
  }
}
