package io.fovea.tpcc;

import java.util.ArrayList;
import java.util.List;

/** One of the twelve consistency conditions of clause 3.3.2, with the violations found. */
final class Condition {
  private static final int EXAMPLES_MAX = 5;

  private static final String[] STATEMENTS = {
    "W_YTD = sum(D_YTD)",
    "D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID)",
    "max(NO_O_ID) - min(NO_O_ID) + 1 = count(NEW-ORDER)",
    "sum(O_OL_CNT) = count(ORDER-LINE) of a district",
    "O_CARRIER_ID is null exactly where there is a NEW-ORDER row",
    "O_OL_CNT = count(ORDER-LINE) of an order",
    "OL_DELIVERY_D is null exactly where O_CARRIER_ID is",
    "W_YTD = sum(H_AMOUNT)",
    "D_YTD = sum(H_AMOUNT)",
    "C_BALANCE = sum(delivered OL_AMOUNT) - sum(H_AMOUNT)",
    "count(ORDER) - count(NEW-ORDER) = orders with a carrier",
    "C_BALANCE + C_YTD_PAYMENT = sum(delivered OL_AMOUNT)",
  };

  static final int COUNT = STATEMENTS.length;

  private final int number;
  private final List<String> examples = new ArrayList<>();
  private long violations;

  Condition(int number) {
    this.number = number;
  }

  static List<Condition> all() {
    List<Condition> all = new ArrayList<>();
    for (int i = 1; i <= COUNT; i++) {
      all.add(new Condition(i));
    }
    return List.copyOf(all);
  }

  void violated(String message) {
    violations++;
    if (examples.size() < EXAMPLES_MAX) {
      examples.add(message);
    }
  }

  int number() {
    return number;
  }

  String statement() {
    return STATEMENTS[number - 1];
  }

  boolean holds() {
    return violations == 0;
  }

  long violations() {
    return violations;
  }

  /** Returns the first violations: where, expected, found. */
  List<String> examples() {
    return List.copyOf(examples);
  }

  @Override
  public String toString() {
    return number + (holds() ? " holds" : " violated " + examples);
  }
}
