package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.fovea.Database;
import io.fovea.error.DuplicateKeyException;
import io.fovea.junit.FoveaDatabase;
import java.util.List;
import org.junit.jupiter.api.Test;

@FoveaDatabase
class OrdersTest {
  private final Shop shop;

  OrdersTest(Database db) {
    shop = new Shop(db);
    shop.register("ada@example.org", "Ada");
  }

  @Test
  void listsTheNewestFirst() {
    shop.order("ada@example.org", "tea", 450);
    shop.order("ada@example.org", "cup", 900);
    assertEquals(List.of("2: cup, 900", "1: tea, 450"), shop.orders("ada@example.org"));
  }

  @Test
  void rejectsATakenAddress() {
    assertThrows(DuplicateKeyException.class, () -> shop.register("ada@example.org", "Eve"));
  }
}
