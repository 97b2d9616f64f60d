package io.fovea.reachability;

import io.fovea.Database;
import io.fovea.DatabaseBean;
import io.fovea.FileDump;
import io.fovea.ObjectSpec;
import io.fovea.Options;
import io.fovea.Table;
import io.fovea.TypeCodecs;
import io.fovea.schema.Converted;
import io.fovea.schema.Id;
import java.lang.invoke.MethodHandles;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.util.Currency;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;

/** Runs every dynamic call of the engine: objects with all types of components, JMX, file dumps. */
public final class Workload {
  enum Color {
    RED,
    GREEN
  }

  sealed interface Pet {}

  record Cat(int lives) implements Pet {}

  record Dog(String name) implements Pet {}

  /** A key of all types of which keys can be. */
  record Ordered(
      boolean bool,
      byte int8,
      short int16,
      char character,
      int int32,
      long int64,
      float float32,
      double float64,
      Boolean boxedBoolean,
      Byte boxedByte,
      Short boxedShort,
      Character boxedChar,
      Integer boxedInt,
      Long boxedLong,
      Float boxedFloat,
      Double boxedDouble,
      String text,
      byte[] bytes,
      UUID uuid,
      Instant instant,
      LocalDate date,
      LocalTime time,
      LocalDateTime dateTime,
      OffsetDateTime offsetDateTime,
      Currency currency,
      Duration duration,
      Color color) {}

  record All(
      Ordered ordered,
      BigInteger integer,
      BigDecimal decimal,
      ZonedDateTime zonedDateTime,
      URI uri,
      Pet pet,
      Optional<Integer> maybe,
      Optional<Ordered> record,
      List<String> list,
      Set<Long> set,
      Map<String, Color> map) {}

  record Named(@Id String name, int size) {}

  record Changed(@Converted(from = int.class, by = Text.class) String text) {}

  static final class Text implements Function<Integer, String> {
    @Override
    public String apply(Integer number) {
      return number.toString();
    }
  }

  private static final TypeCodecs CODECS =
      TypeCodecs.of(Currency.class, String.class, Currency::getCurrencyCode, Currency::getInstance);

  private Workload() {}

  /** Runs everything in a folder. */
  public static void run(Path folder) throws Exception {
    ObjectSpec.of("all", Ordered.class, All.class, CODECS);
    ObjectSpec.of("all", Ordered.class, All.class, CODECS, MethodHandles.lookup());
    ObjectSpec.of("changed", Long.class, Changed.class);
    ObjectSpec.of("changed", Long.class, Changed.class, MethodHandles.lookup());
    Path file = folder.resolve("a.fovea");
    try (Database db = Database.open(file, Options.defaults().bufferBytes(4 << 20))) {
      Table<String, Named> table =
          db.table(ObjectSpec.of("named", String.class, Named.class).index("size", "size"));
      table.index("size", Integer.class);
      db.run(tx -> table.insert(tx, new Named("a", 1)));
      DatabaseBean.register(db);
    }
    try (FileDump dump = FileDump.open(file)) {
      dump.page(0);
    }
  }
}
