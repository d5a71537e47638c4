"""What a checkout costs the database."""

import pytest

# in two transactions, BEGIN and COMMIT among them; the provider is called between the two
STATEMENTS = 32


@pytest.mark.parametrize("units", [1, 8])
def test_a_checkout_takes_the_same_number_of_statements_for_any_number_of_units(make_sale, queries, api, units):
    sale = make_sale(units)
    hold, client = sale.hold(), api(sale.key)
    # the first call of a key reads it, and the process remembers it for a while
    assert client.get(f"/v1/holds/{hold}").status_code == 200
    body = {"hold": hold, "payment": {"method": "tok_ok"}}
    with queries() as seen:
        assert client.post("/v1/orders", body, headers={"Idempotency-Key": "k-1"}).status_code == 201
    assert seen.count == STATEMENTS, "\n".join(seen)
    assert [text for text in seen if text in {"BEGIN", "COMMIT"}] == ["BEGIN", "COMMIT"] * 2
