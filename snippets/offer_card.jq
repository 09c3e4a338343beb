# The card of an offer in one language ($lang), made of dvor.offers.v1.OfferChange. An offer that is gone has no card.

def words: {
  ru: {
    NEW: "новый", USED: "б/у", REFURBISHED: "восстановленный",
    ACTIVE: "в продаже", INACTIVE: "снято с продажи", EXPIRED: "срок истёк", BANNED: "заблокировано",
    SOLD_HERE: "продано", SOLD_ELSEWHERE: "продано"
  },
  en: {
    NEW: "new", USED: "used", REFURBISHED: "refurbished",
    ACTIVE: "on sale", INACTIVE: "withdrawn", EXPIRED: "expired", BANNED: "banned",
    SOLD_HERE: "sold", SOLD_ELSEWHERE: "sold"
  }
}[$lang];

def word: . as $code | {code: ($code | ascii_downcase), text: (words[$code] // ($code | ascii_downcase))};

# Digits behind the point, by currency.
def places: {JPY: 0, KRW: 0, VND: 0, CLP: 0, ISK: 0, KWD: 3, BHD: 3, JOD: 3, OMR: 3, TND: 3}[.] // 2;

def amount($places):
  tostring | if $places == 0 then . else
    (if length <= $places then "0" * ($places + 1 - length) + . else . end)
    | .[:length - $places] + "." + .[length - $places:]
  end;

# 1299000 → "1 299 000"
def grouped: if length <= 3 then . else (.[:-3] | grouped) + " " + .[-3:] end;

def shown:
  split(".") as $parts
  | ($parts[0] | grouped)
    + (if ($parts[1] // "" | test("[1-9]")) then (if $lang == "ru" then "," else "." end) + $parts[1] else "" end);

def sign: {RUB: "₽", USD: "$", EUR: "€", GBP: "£", KZT: "₸", BYN: "Br", UAH: "₴"}[.] // .;

def price:
  .currency as $currency
  | (.minor // 0 | amount($currency | places)) as $amount
  | {amount: $amount, currency: $currency, text: (($amount | shown) + " " + ($currency | sign))};

def text: if . == null or . == "" then null else . end;

# As `photo_order` has them; what it does not name follows in the seller's order.
def shown_photos:
  (.photo_order // []) as $order
  | [.photos // [] | to_entries[]
      | .key as $place
      | .value
      | select(.state == "READY")
      | {photo: {hash, width: (.width // 0), height: (.height // 0)},
         place: [(.url as $url | [$order | to_entries[] | select(.value == $url) | .key] | .[0] // ($order | length)), $place]}]
  | sort_by(.place) | map(.photo);

.offer as $offer
| ($offer.content // {}) as $content
| if $offer.status == "DELETED" or $offer.archived == true then empty else
    {
      seller_id: ($offer.seller_id // ""),
      title: ($content.title // ""),
      description: ($content.description | text),
      price: (if ($content.price.currency | text) == null then null else $content.price | price end),
      condition: (if $content.condition == null then null else $content.condition | word end),
      status: ($offer.status // "STATUS_UNSPECIFIED" | word),
      category_id: ($content.category_id | text),
      vendor: ($content.vendor | text),
      place: ($content.location.name | text),
      url: ($content.url | text),
      photos: ($offer // {} | shown_photos),
      version: (.version // 0)
    }
    | with_entries(select(.value != null and .value != []))
  end
