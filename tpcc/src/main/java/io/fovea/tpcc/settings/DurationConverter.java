package io.fovea.tpcc.settings;

import java.time.Duration;
import java.util.Locale;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Parses durations: 10, 10s, 1.5s, 500ms, 5m, 1h. */
public final class DurationConverter implements ITypeConverter<Duration> {
  @Override
  public Duration convert(String value) {
    String s = value.strip().toLowerCase(Locale.ROOT);
    String number = s.replaceFirst("(?<=\\d)\\s*(ms|s|m|h)?$", "");
    double scale =
        switch (s.substring(number.length()).strip()) {
          case "ms" -> 1e6;
          case "m" -> 60e9;
          case "h" -> 3_600e9;
          default -> 1e9;
        };
    double nanos = number.matches("\\d+(\\.\\d+)?") ? Double.parseDouble(number) * scale : -1;
    if (nanos < 0 || nanos > Duration.ofDays(365).toNanos()) {
      throw new TypeConversionException(
          "'" + value + "' is not a duration: expected seconds, or a number with ms, s, m or h");
    }
    return Duration.ofNanos((long) nanos);
  }
}
