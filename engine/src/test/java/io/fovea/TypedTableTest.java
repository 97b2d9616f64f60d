package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.fovea.error.InvalidUseException;
import io.fovea.schema.Field;
import io.fovea.schema.FieldType;
import io.fovea.schema.KeySpec;
import io.fovea.schema.Layout;
import io.fovea.schema.TableSpec;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Objects on rows: key and row belong to the transaction's slot and are reused. */
class TypedTableTest {
  private static final Layout.Definition FIELDS = Layout.define();
  private static final Field NAME = FIELDS.text("name", 20);
  private static final Field FRIEND = FIELDS.int64("friend");
  private static final TableSpec SPEC =
      TableSpec.of("people", KeySpec.of(FieldType.INT64), FIELDS.build());

  private record Person(@Nullable String name, long friend) {}

  private final Database db = Database.inMemory(Options.defaults().bufferBytes(8 << 20));
  private final RowTable rows = db.table(SPEC);

  private Consumer<Person> beside = p -> {};

  private final Set<Object> keysSeen = new HashSet<>();

  private final Table<Long, Person> people =
      rows.as(
          new KeyCodec<>() {
            @Override
            public void encode(Long object, Key key) {
              assertEquals(0, key.parts(), "the key is empty");
              keysSeen.add(System.identityHashCode(key));
              key.set((long) object);
            }

            @Override
            public Long decode(Key key) {
              return key.getLong(0);
            }
          },
          new Codec<>() {
            @Override
            public void encode(Person p, Row row) {
              assertEquals("", row.getText(NAME), "the row is zeroed");
              assertEquals(0, row.getLong(FRIEND), "the row is zeroed");
              beside.accept(p);
              if (p.name() != null) {
                row.setText(NAME, p.name());
              }
              row.setLong(FRIEND, p.friend());
            }

            @Override
            public Person decode(Row row) {
              String name = row.getText(NAME);
              Person p = new Person(name.isEmpty() ? null : name, row.getLong(FRIEND));
              beside.accept(p);
              assertEquals(
                  p.friend(), row.getLong(FRIEND), "the row is not shared during the call");
              return p;
            }
          });

  @AfterEach
  void close() {
    db.close();
  }

  @Test
  void reusedRowsAreCleared() {
    db.run(
        tx -> {
          people.put(tx, 1L, new Person("Ada", 2));
          people.insert(tx, 2L, new Person(null, 0));
          assertEquals(new Person("Ada", 2), people.get(tx, 1L));
          assertEquals(new Person(null, 0), people.get(tx, 2L));
          assertNull(people.get(tx, 3L));
          assertEquals(true, people.delete(tx, 1L));
          assertNull(people.get(tx, 1L));
        });
  }

  @Test
  void findsAndVisitsWithoutBounds() {
    db.run(
        tx -> {
          people.put(tx, 1L, new Person("Ada", 2));
          people.put(tx, 2L, new Person("Bob", 1));
          assertEquals(Optional.of(new Person("Bob", 1)), people.find(tx, 2L));
          assertEquals(Optional.empty(), people.find(tx, 3L));
          assertEquals(List.of(1L, 2L), people.stream(tx).map(Map.Entry::getKey).toList());
          assertEquals(List.of(2L), people.stream(tx, 2L).map(Map.Entry::getKey).toList());
          List<Long> visited = new ArrayList<>();
          people.forEach(tx, (id, person) -> visited.add(id));
          assertEquals(List.of(1L, 2L), visited);
        });
  }

  @Test
  void oneKeyServesAllOperations() {
    for (int i = 0; i < 10; i++) {
      long id = i;
      db.run(
          tx -> {
            people.put(tx, id, new Person("n" + id, id));
            people.get(tx, id);
            people.delete(tx, id);
          });
    }
    assertEquals(1, keysSeen.size(), "of one thread");
  }

  /** A codec that reads other records gets another key and row for that. */
  @Test
  void codecsMayUseTheTable() {
    db.run(
        tx -> {
          people.put(tx, 1L, new Person("Ada", 0));
          people.put(tx, 2L, new Person("Bob", 1));
          AtomicReference<@Nullable Person> friend = new AtomicReference<>();
          beside =
              p -> {
                if (p.friend() > 0) {
                  friend.set(people.get(tx, p.friend()));
                }
              };
          assertEquals(new Person("Bob", 1), people.get(tx, 2L));
          assertEquals(new Person("Ada", 0), friend.getAndSet(null));
          people.put(tx, 3L, new Person("Cid", 2));
          assertEquals(new Person("Bob", 1), friend.get());
          assertEquals(new Person("Cid", 2), people.get(tx, 3L));
        });
  }

  @Test
  void failingCodecsReturnTheirRows() {
    RuntimeException mine = new RuntimeException("mine");
    db.run(
        tx -> {
          people.put(tx, 1L, new Person("Ada", 7));
          beside =
              p -> {
                throw mine;
              };
          assertSame(mine, assertThrows(RuntimeException.class, () -> people.get(tx, 1L)));
          assertSame(
              mine,
              assertThrows(RuntimeException.class, () -> people.put(tx, 1L, new Person("Eve", 8))));
          beside = p -> {};
          assertEquals(new Person("Ada", 7), people.get(tx, 1L));
        });
    assertEquals(1, keysSeen.size());
  }

  @Test
  void otherThreadsDoNotAffectTheRow() {
    AtomicReference<@Nullable Throwable> refusal = new AtomicReference<>();
    db.run(
        tx -> {
          people.put(tx, 1L, new Person("Ada", 7));
          int seen = keysSeen.size();
          Thread other =
              Thread.ofPlatform()
                  .start(
                      () ->
                          refusal.set(
                              assertThrows(
                                  InvalidUseException.class,
                                  () -> people.put(tx, 5L, new Person("Eve", 1)))));
          try {
            other.join();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
          assertEquals(seen, keysSeen.size());
          assertEquals(new Person("Ada", 7), people.get(tx, 1L));
          assertNull(people.get(tx, 5L));
        });
    assertNotNull(refusal.get());
  }

  @Test
  void anEndedTransactionIsRefused() {
    Transaction ended = db.begin();
    ended.commit();
    assertThrows(InvalidUseException.class, () -> people.get(ended, 1L));
    assertThrows(InvalidUseException.class, () -> people.delete(ended, 1L));
    assertEquals(0, keysSeen.size());
  }
}
