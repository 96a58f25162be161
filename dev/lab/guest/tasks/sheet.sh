# A sheet, the same from its record, and the same from its page; and one by a plain user.
ask sheet 200 cpudyno sheet --budget 10s --json /tmp/sheet.json $WIDE
cp /tmp/sheet.json /host/sheet-record.note
ask sheet-shown 60 cpudyno show /tmp/sheet.json $WIDE
ask sheet-html 60 cpudyno show /tmp/sheet.json --html /tmp/sheet.html $WIDE
ask sheet-from-html 60 cpudyno show /tmp/sheet.html $WIDE
as_user sheet-user 200 cpudyno sheet --budget 10s $WIDE
