package bank;

import io.fovea.schema.Id;
import io.fovea.schema.Initial;

/** The account of the Spring Boot sample with a component more; see release.sh. */
record Account(@Id long number, String owner, long cents, @Initial("EUR") String currency) {
  Account(long number, String owner, long cents) {
    this(number, owner, cents, "GBP");
  }

  Account plus(long amount) {
    return new Account(number, owner, cents + amount, currency);
  }
}
