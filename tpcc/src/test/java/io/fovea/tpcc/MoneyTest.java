package io.fovea.tpcc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.fovea.tpcc.bench.Rng;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class MoneyTest {
  private static BigDecimal rate(int tenThousandths) {
    return BigDecimal.valueOf(tenThousandths, 4);
  }

  @Test
  void totalsMatchDecimalArithmetic() {
    Rng rng = new Rng(1);
    for (int i = 0; i < 100_000; i++) {
      long sum = rng.between(5, 15 * 10 * 100_00);
      int discount = rng.between(0, 5_000);
      int warehouse = rng.between(0, 2_000);
      int district = rng.between(0, 2_000);
      BigDecimal expected =
          BigDecimal.valueOf(sum)
              .multiply(BigDecimal.ONE.subtract(rate(discount)))
              .multiply(BigDecimal.ONE.add(rate(warehouse)).add(rate(district)))
              .setScale(0, RoundingMode.HALF_UP);
      assertEquals(expected.longValueExact(), Money.orderTotal(sum, discount, warehouse, district));
    }
  }

  @Test
  void totalsByHand() {
    assertEquals(100_00, Money.orderTotal(100_00, 0, 0, 0));
    assertEquals(50_00, Money.orderTotal(100_00, 5_000, 0, 0));
    assertEquals(140_00, Money.orderTotal(100_00, 0, 2_000, 2_000));
    assertEquals(1, Money.orderTotal(1, 5_000, 0, 0), "half a cent rounds up");
  }

  @Test
  void formats() {
    assertEquals("0.00", Money.format(0));
    assertEquals("-10.00", Money.format(-1_000));
    assertEquals("-0.05", Money.format(-5));
    assertEquals("300000.00", Money.format(300_000_00));
    assertEquals("1.23", Money.format(123));
  }

  @Test
  void putsDigits() {
    byte[] b = new byte[40];
    for (long n : new long[] {0, 7, 9, 10, 42, 99, 100, 3_000, 500_000, Integer.MAX_VALUE}) {
      int end = Money.putNumber(b, 3, n);
      assertEquals(Long.toString(n), new String(b, 3, end - 3, StandardCharsets.US_ASCII));
    }
    for (long n : new long[] {0, 5, 99, 100, 101, 110, 5_000_00, 123_456_78}) {
      int end = Money.putAmount(b, 1, n);
      assertEquals(Money.format(n), new String(b, 1, end - 1, StandardCharsets.US_ASCII));
    }
  }
}
